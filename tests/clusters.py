"""Clusters of processes on this machine, and signals that workers make or read slowly."""

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster


@contextmanager
def local_cluster(workers, **options):
    """(cluster, client): so many processes of one thread each."""
    failures = options.pop("allowed_failures", 3)
    with dask.config.set({"distributed.scheduler.allowed-failures": failures}):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=100,  # workers are killed on purpose
            **options,
        )
        client = Client(cluster)
        try:
            yield cluster, client
        finally:
            client.close()
            with suppress(KeyError):  # of a worker that went by itself while it was asked to go
                cluster.close()


def scale(cluster, client, workers):
    """Let a cluster have so many workers, and wait until it does."""
    cluster.scale(workers)
    client.wait_for_workers(workers, timeout=60)
    end = time.monotonic() + 60
    while len(client.nthreads()) != workers:
        assert time.monotonic() < end, "the cluster has not let workers go"
        time.sleep(0.02)


def logged(rows, folder, seconds, block_info=None):
    """The rows, late; a file in `folder` says which were begun, and by whom."""
    first = block_info[0]["array-location"][0][0]
    Path(folder, f"{first}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return rows


def slow(signals, rows, folder, seconds=0.0):
    """A dask array of signals whose chunks are logged when they are made."""
    folder.mkdir(exist_ok=True)
    array = da.from_array(signals, chunks=(rows, -1))
    return array.map_blocks(logged, str(folder), seconds, dtype=array.dtype)


def begun(folder):
    """(first row, process) of the chunks that were begun, in order."""
    names = sorted((p.name.split("-") for p in folder.iterdir()), key=lambda name: int(name[2]))
    return [(int(first), int(process)) for first, process, _ in names]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


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
    """Rows of which those of the second half, once a file is there, take all memory there is."""
    first, _ = block_info[0]["array-location"][0]
    if first < block_info[0]["shape"][0] // 2 or not Path(flag).exists():
        return rows
    eaten = []
    while True:  # until the nanny sees it
        eaten.append(np.ones(2**22))
        time.sleep(0.01)


def forget_peak():
    """Let the most memory of this process be what it has now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
