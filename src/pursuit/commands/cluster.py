"""`--workers` and `--scheduler`: where the tasks of a command run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pursuit.base.cluster import require
from pursuit.base.errors import InputError, PursuitError, one_line
from pursuit.base.validation import count

ON_WORKERS = "encoding on workers"
MOST = 1024
"""Processes of one machine; more would only take all of its memory before any begins."""
SECONDS = "10s"
"""To wait for a scheduler that may not be there."""


@contextmanager
def on_cluster(
    workers: int | None, scheduler: str | None, threads: int | None = None
) -> Iterator[bool]:
    """Let Dask compute on so many processes of this machine, or on a cluster: whether it does."""
    if workers is None and scheduler is None:
        yield False
        return
    if workers is not None and scheduler is not None:
        raise InputError(
            f"workers: expected either workers or the scheduler of a cluster, got {workers} and "
            f"{scheduler}"
        )
    if threads not in (None, 1):
        raise InputError(f"threads: expected none on workers, which have one each, got {threads}")
    with _started(workers) if scheduler is None else _connected(scheduler):
        yield True


@contextmanager
def _started(workers: int | None) -> Iterator[Any]:
    """Processes with one thread each, for as long as the command runs."""
    number = count("workers", workers, minimum=1)
    if number > MOST:
        raise InputError(f"workers: expected at most {MOST} of one machine, got {number}")
    distributed = require("distributed", ON_WORKERS)
    with (
        distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            preload=[__name__],
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def dask_setup(worker: object) -> None:
    """Dask calls this in a worker: Ctrl-C reaches all processes, and this one ends with the
    command, without a traceback of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    distributed = require("distributed", ON_WORKERS)
    try:
        client = distributed.Client(address, timeout=SECONDS)
    except (OSError, ValueError, AssertionError) as error:  # the last is Dask's for 2.5
        said = f" ({one_line(str(error)):.120})" if str(error) else ""
        raise PursuitError(
            f"scheduler: expected the address of a Dask scheduler, got {address}{said}"
        ) from None
    with client:
        yield client
