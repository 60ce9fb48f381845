"""Tasks on whatever runs Dask's: threads, processes, a cluster.

Results come as they are finished, and a bounded number of tasks is under way at a time. What all
tasks need travels once to each process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any
from uuid import uuid4

from pursuit.base.errors import MissingExtra, PursuitError, one_line

EXTRA = "dask"
IN_FLIGHT = 2
"""Tasks under way for each thread of the cluster: one that runs, one that is waiting for it."""
POLL = 0.01
"""Seconds between two looks at whether a task is finished or the run interrupted."""
interrupt_flag: ContextVar[threading.Event | None] = ContextVar("interrupt_flag", default=None)
"""What ends the waiting for tasks in a thread that signals do not reach."""
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"
Graph = Mapping[Hashable, Any]


def require(module: str, purpose: str) -> Any:
    """A module that comes with the extra, or a line that names it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(EXTRA, purpose) from None


def active_client() -> Any:
    """The client of the cluster that Dask computes on; None: on this machine, without one."""
    from dask.base import get_scheduler

    # Dask gives the method of a client that computes; so its own settings decide, too.
    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "submit") else None


# What all tasks need -------------------------------------------------------------------------


@dataclass(frozen=True)
class SharedValue:
    """Something that tasks share, known by its token: each process keeps the first that comes.

    What it works out there, and does not take along when it is pickled, is worked out once.
    """

    token: str
    value: Any = field(compare=False, repr=False)

    def here(self) -> Any:
        """The one of this process."""
        return _of_this_process(self)


@lru_cache(maxsize=2)
def _of_this_process(shared: SharedValue) -> Any:
    return shared.value


def shared_node(shared: SharedValue) -> Any:
    """It as a node of a graph, which every task may depend on: never as a part of each task."""
    from dask import delayed

    return delayed(shared, name=f"shared-{shared.token}", traverse=False)


def held_node(shared: SharedValue) -> Any:
    """The same for many graphs, one after the other: on a cluster it is sent there once.

    A worker that dies takes nothing along: the scheduler can make it again, which it could not if
    it had been scattered.
    """
    import dask

    client = active_client()
    if client is None:
        return shared_node(shared)
    with graphs_up_to("1PiB"):
        return dask.delayed(client.submit(_same, shared, key=f"shared-{uuid4().hex}"))


def _same(value: Any) -> Any:
    return value


@contextmanager
def graphs_up_to(size: int | str) -> Iterator[None]:
    """Let Dask warn of graphs above a size alone."""
    import dask

    # Its defaults come with the import, and would go again with ours if that happened inside.
    with suppress(ImportError):
        import distributed  # noqa: F401
    with dask.config.set({LARGE_GRAPH: size}):
        yield


# Tasks ---------------------------------------------------------------------------------------


def each_result(graph: Graph, keys: Sequence[Hashable]) -> Iterator[tuple[int, Any]]:
    """(place, result) of the keys of a graph, in the order in which they are finished.

    An error of a task is raised as it is. Where the generator is left early, what is under way is
    given up.
    """
    from dask.delayed import Delayed
    from dask.optimization import cull

    # Each task with what it needs alone: the whole is not looked through again for every one.
    tasks = ((place, Delayed(key, cull(graph, [key])[0])) for place, key in enumerate(keys))
    client = active_client()
    with in_words():
        yield from _in_batches(tasks) if client is None else _in_window(client, tasks)


def _in_batches(tasks: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """By a scheduler of this machine, which gives all results of a call together."""
    import dask
    from dask.system import CPU_COUNT

    workers = int(dask.config.get("num_workers", None) or CPU_COUNT)
    with _one_pool(workers):
        while batch := list(islice(tasks, IN_FLIGHT * workers)):
            places, delayed = zip(*batch, strict=True)
            yield from zip(places, dask.compute(*delayed), strict=True)


@contextmanager
def _one_pool(workers: int) -> Iterator[None]:
    """Dask's processes would be started again for every call: let them stay for all."""
    import dask
    from dask import multiprocessing

    named = dask.base.get_scheduler() is multiprocessing.get
    if not named or dask.config.get("pool", None) is not None:
        yield
        return
    context = multiprocessing.get_context()
    with ProcessPoolExecutor(workers, context) as pool, dask.config.set(pool=pool):
        yield


def _in_window(client: Any, tasks: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """By a cluster: a task that is finished makes room for the next one."""
    from distributed import as_completed

    places: dict[Any, int] = {}
    finished = as_completed()

    def fill() -> None:
        free = IN_FLIGHT * max(1, _threads(client)) - len(places)
        for place, task in islice(tasks, max(0, free)):
            future = client.compute(task)
            places[future] = place
            finished.add(future)

    try:
        fill()
        while places:
            future = _next_finished(finished)
            result = future.result()
            place = places.pop(future)
            future.release()
            yield place, result
            del result
            fill()
    finally:
        for future in places:
            future.release()


def _next_finished(finished: Any) -> Any:
    """The next future of `as_completed`, unless the `interrupt_flag` is set before."""
    flag = interrupt_flag.get()
    if flag is not None:
        while not (flag.is_set() or finished.has_ready() or finished.is_empty()):
            time.sleep(POLL)
        if flag.is_set():
            raise KeyboardInterrupt
    return next(finished)


def _threads(client: Any) -> int:
    """Those of a cluster, if it is still there."""
    if client.status in ("closing", "closed"):
        raise CancelledError("its client is closed")
    try:
        return sum(client.nthreads().values())
    except OSError as error:
        raise CancelledError(str(error)) from None


SMALLER = "expected workers with more memory, or smaller chunks"


@contextmanager
def in_words() -> Iterator[None]:
    """One sentence for a cluster that dies."""
    try:
        yield
    except MemoryError:
        raise PursuitError(f"a task ran out of memory; {SMALLER}") from None
    except CancelledError as error:
        lost = one_line(str(error)).rstrip(".")
        raise PursuitError(f"the cluster was lost ({lost})") from None
    except Exception as error:
        if type(error).__name__ != "KilledWorker":  # a class of distributed
            raise
        raise PursuitError(
            f"a task was given up after the death of {error.args[2] + 1} of its workers, which may "
            f"have run out of memory; {SMALLER}"
        ) from None
