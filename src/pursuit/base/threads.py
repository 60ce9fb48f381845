"""Work on Python threads, each with single-threaded BLAS.

Blocks of work have a fixed size and write to places of their own, so the number of threads changes
no bit. Threads live as long as one call: nothing is left that a fork could break.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

import numpy as np

from pursuit.base.progress import Silent
from pursuit.base.validation import Array

Job = Callable[[int], object]
"""Does the block of a number."""
LOOK = 0.1
"""Seconds between two looks of a waiting thread, where a lock does not hear of interrupts."""
GRACE = 0.5
"""Seconds that an interrupted call waits for its threads. One that is compiling just then takes
longer: it ends by itself, and nobody looks at what it leaves."""


class _SingleThreadedBlas(ContextDecorator):
    """One BLAS thread for as long as any caller is inside; the limit is the process's."""

    _libraries: list[Any]
    _modules = 0

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limited: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limited = []
                self._limit()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, threads in self._limited:
                    library.set_num_threads(threads)

    def renew(self) -> None:
        """Hold libraries to one thread that were loaded while somebody is inside."""
        with self._lock:
            if self._inside:
                self._limit()

    def _limit(self) -> None:
        counts = [(library, library.num_threads) for library in self._loaded()]
        for library, threads in counts:
            if threads > 1:
                library.set_num_threads(1)
                self._limited.append((library, threads))

    def _loaded(self) -> list[Any]:
        """The BLAS libraries of the process, looked for anew when a module has come in: SciPy
        brings one of its own."""
        if self._modules != len(sys.modules):
            from threadpoolctl import ThreadpoolController

            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self._modules = len(sys.modules)
        return self._libraries


single_threaded_blas = _SingleThreadedBlas()


# Blocks of work ------------------------------------------------------------------------------


class _Queue:
    """The numbers 0 … total − 1, handed out in order until something fails."""

    def __init__(self, total: int, bar: Silent) -> None:
        self._total, self._bar = total, bar
        self._lock = threading.Lock()
        self._next = self._done = 0
        self._closed = False
        self.errors: dict[int, BaseException] = {}

    def take(self) -> int | None:
        with self._lock:
            if self._closed or self.errors or self._next >= self._total:
                return None
            self._next += 1
            return self._next - 1

    def finish(self, number: int, error: BaseException | None = None) -> None:
        with self._lock:
            if error is not None:
                self.errors[number] = error
            self._done += 1
            if not self._closed:
                self._bar.update(self._done)

    def close(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._closed = True


def new_halt() -> Array:
    """A flag that kernels look at between two steps, to leave a block whose call is interrupted."""
    return np.zeros(1, np.bool_)


def for_each_block(
    total: int,
    start: Callable[[], Job],
    threads: int,
    bar: Silent | None = None,
    *,
    halt: Array | None = None,
    brief: bool = False,
) -> None:
    """Do the blocks 0 … total − 1; `start` gives each thread a job with scratch of its own.

    If blocks fail, the error of the lowest one is raised: the same for any number of threads,
    because blocks are begun in order.

    An interrupt reaches the main thread alone, and only between two of its own steps. So it does
    no block itself unless they are `brief`, and when one comes sets `halt`, for kernels to see.
    """
    queue = _Queue(total, bar or Silent())

    def work() -> None:
        job: Job | None = None
        with np.errstate(all="ignore"):  # a thread does not inherit what its caller has set
            while (number := queue.take()) is not None:
                try:
                    job = job or start()
                    job(number)
                except BaseException as error:
                    queue.finish(number, error)
                else:
                    queue.finish(number)

    joins_in = brief or threading.current_thread() is not threading.main_thread()
    wanted = min(threads, total) - (1 if joins_in else 0)
    helpers = [threading.Thread(target=work) for _ in range(wanted)]
    with single_threaded_blas:
        try:
            for helper in helpers:
                helper.start()
            if joins_in:
                work()
            _join(helpers)
        except BaseException:  # an interrupt
            queue.close()
            if halt is not None:
                halt[0] = True
            _join(helpers, GRACE)
            raise
    if queue.errors:
        raise queue.errors[min(queue.errors)]


def _join(helpers: list[threading.Thread], seconds: float = np.inf) -> None:
    """Wait until all have ended, at most so many seconds, and hear interrupts meanwhile."""
    end = time.monotonic() + seconds
    for helper in helpers:
        while helper.is_alive() and time.monotonic() < end:
            helper.join(LOOK)


# Threads that wait for work ------------------------------------------------------------------


class Crew:
    """Threads that share the large products of one run, and BLAS at one thread meanwhile.

    They start with the first product, and wait for others until the run leaves the context.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._helpers: list[threading.Thread] = []

    def __enter__(self) -> None:
        single_threaded_blas.__enter__()
        self._before = _crew.set(self)

    def __exit__(self, *error: object) -> None:
        _crew.reset(self._before)
        single_threaded_blas.__exit__(*error)
        if self._helpers:
            for _ in self._helpers:
                self._inbox.put(None)
            _join(self._helpers)

    def each(self, total: int, job: Job) -> None:
        """Do job(0) … job(total − 1), in any order; the calling thread joins in."""
        if not self._helpers:
            self._start()
        shared = _Shared(total, job)
        for _ in self._helpers[: total - 1]:
            self._inbox.put(shared)
        shared.finish()

    def _start(self) -> None:
        self._inbox: SimpleQueue[_Shared | None] = SimpleQueue()
        for _ in range(self.threads - 1):
            helper = threading.Thread(target=self._help)
            helper.start()
            self._helpers.append(helper)

    def _help(self) -> None:
        # The run decides what a number out of range means; here it is no event.
        with np.errstate(all="ignore"):
            while (shared := self._inbox.get()) is not None:
                shared.work()


_crew: ContextVar[Crew | None] = ContextVar("crew", default=None)


class _Shared:
    """A job that several threads are at."""

    def __init__(self, total: int, job: Job) -> None:
        self._total, self._job = total, job
        self._left = deque(range(total))
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()

    def work(self) -> None:
        """Do what is left."""
        while True:
            try:
                number = self._left.popleft()
            except IndexError:
                return
            try:
                self._job(number)
            except BaseException as error:
                self._done.put(error)
            else:
                self._done.put(None)

    def finish(self) -> None:
        """Join in, and wait for what others are still at."""
        try:
            self.work()
            errors = [self._done.get() for _ in range(self._total)]
        except BaseException:  # an interrupt
            self._left.clear()
            raise
        for error in errors:
            if error is not None:
                raise error


def each(total: int, job: Job) -> None:
    """Do job(0) … job(total − 1) on the threads of the `Crew` around, else on this one."""
    here = _crew.get()
    if here is not None and here.threads > 1 and total > 1:
        here.each(total, job)
        return
    for number in range(total):
        job(number)
