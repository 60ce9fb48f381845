"""Clusters of processes on this machine, and signals that workers make or wait with."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

PATIENCE = 300
"""Seconds after which something is not slow but lost, on a machine with much else to do."""
OPEN = "open"


@contextmanager
def local_cluster(workers, allowed_failures=3, **options):
    """(cluster, client): so many processes of one thread each."""
    settings = {
        "distributed.scheduler.allowed-failures": allowed_failures,
        # A cluster gives up a worker that takes longer to come back after it was killed.
        "distributed.deploy.lost-worker-timeout": PATIENCE,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=100,  # workers are killed on purpose
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


def scale(cluster, client, workers):
    """Let a cluster have so many workers, and wait until its scheduler knows them.

    The scheduler is asked. Dask's `wait_for_workers` would let the cluster forget a worker that is
    gone before it has heard so, and fail with a KeyError when it does.
    """
    cluster.scale(workers)
    wait_until(lambda: len(client.nthreads()) == workers)


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


# Signals --------------------------------------------------------------------------------------


def second_half(block_info, flag):
    """Whether a chunk begins in the second half of its rows, and a file is there."""
    first, _ = block_info[0]["array-location"][0]
    return first >= block_info[0]["shape"][0] // 2 and Path(flag).exists()


def waiting(rows, gate, flag, block_info=None):
    """The rows. Those of the second half come to a gate, say so, and wait until it is open."""
    if second_half(block_info, flag):
        first, _ = block_info[0]["array-location"][0]
        Path(gate, f"{first}-{os.getpid()}").touch()
        while not Path(gate, OPEN).exists():
            time.sleep(0.005)
    return rows


def gated(signals, rows, gate, flag):
    """A dask array of signals that are `waiting` in their second half."""
    gate.mkdir(exist_ok=True)
    array = da.from_array(signals, chunks=(rows, -1))
    return array.map_blocks(waiting, str(gate), str(flag), dtype=array.dtype)


def at_gate(gate):
    """(first row, process) of the chunks that came to a gate."""
    names = [path.name for path in gate.iterdir() if path.name != OPEN]
    return {tuple(map(int, name.split("-"))) for name in names}


def drawn(rows, length, block_info=None):
    """Signals that are a function of their place."""
    place = block_info[0]["array-location"][0][0]
    return np.random.default_rng(place).standard_normal((len(rows), length), np.float32)


def drawn_signals(total, length, rows):
    """A dask array of signals that no process has as a whole."""
    places = da.zeros((total, 1), chunks=(rows, 1), dtype=np.float32)
    chunks = (places.chunks[0], (length,))
    return places.map_blocks(drawn, length, chunks=chunks, meta=np.empty((0, 0), np.float32))


def hungry(rows, flag, block_info=None):
    """Rows of which those of the second half take all the memory that a worker may have."""
    if not second_half(block_info, flag):
        return rows
    eaten = []
    while True:  # until the nanny sees it, however late that is
        if len(eaten) < 48:
            eaten.append(np.ones(2**22))
        time.sleep(0.01)


def forget_peak():
    """Let the most memory of this process be what it has now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
