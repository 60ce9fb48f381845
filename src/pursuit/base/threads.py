"""Blocks of work on Python threads, each with single-threaded BLAS.

Blocks have a fixed size and write to places of their own, so the number of threads changes no
bit. Threads live as long as one call: nothing is left that a fork could break.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from pursuit.base.errors import InputError
from pursuit.base.progress import Silent
from pursuit.base.validation import count

Job = Callable[[int], None]
"""Does the block of a number."""


def thread_count(threads: int | None) -> int:
    """`threads`, else ``$PURSUIT_THREADS``, else every core that this process may use."""
    if threads is not None:
        return count("threads", threads, minimum=1)
    wanted = os.environ.get("PURSUIT_THREADS")
    if wanted is not None:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise InputError(f"PURSUIT_THREADS: expected a number of at least 1, got {wanted!r}")
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _SingleThreadedBlas:
    """One BLAS thread for as long as any caller is inside; the limit is the process's."""

    _controller: Any = None

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                from threadpoolctl import ThreadpoolController

                self._controller = ThreadpoolController()
            if self._inside == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


single_threaded_blas = _SingleThreadedBlas()


class _Queue:
    """The numbers 0 … total − 1, handed out in order until something fails."""

    def __init__(self, total: int, bar: Silent) -> None:
        self._total, self._bar = total, bar
        self._lock = threading.Lock()
        self._next = self._done = 0
        self.errors: dict[int, BaseException] = {}

    def take(self) -> int | None:
        with self._lock:
            if self.errors or self._next >= self._total:
                return None
            self._next += 1
            return self._next - 1

    def finish(self, number: int, error: BaseException | None = None) -> None:
        with self._lock:
            if error is not None:
                self.errors[number] = error
            self._done += 1
            self._bar.update(self._done)


def for_each_block(
    total: int, start: Callable[[], Job], threads: int, bar: Silent | None = None
) -> None:
    """Do the blocks 0 … total − 1; `start` gives each thread a job with scratch of its own.

    If blocks fail, the error of the lowest one is raised: the same for any number of threads,
    because blocks are begun in order.
    """
    queue = _Queue(total, bar or Silent())

    def work() -> None:
        job: Job | None = None
        while (number := queue.take()) is not None:
            try:
                job = job or start()
                job(number)
            except BaseException as error:
                queue.finish(number, error)
            else:
                queue.finish(number)

    helpers = [threading.Thread(target=work) for _ in range(min(threads, total) - 1)]
    with single_threaded_blas:
        for helper in helpers:
            helper.start()
        try:
            work()
            for helper in helpers:
                helper.join()
        except BaseException as error:  # an interrupt between two blocks
            queue.finish(total, error)
    if queue.errors:
        raise queue.errors[min(queue.errors)]
