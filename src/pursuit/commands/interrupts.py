"""Ctrl-C during work on a cluster: heard at any moment, and no traceback."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any, NoReturn, TypeVar

from pursuit.base.cluster import interrupt_flag

T = TypeVar("T")
LOOK = 0.1
"""Seconds between two looks at the flag."""
GRACE = 1.5
"""Seconds that interrupted work has to mark its blocks."""
WARNINGS = "PYTHONWARNINGS"
LEAKED = "ignore::UserWarning:multiprocessing.resource_tracker"
"""A program that ends at once leaves semaphores, which Python removes and complains of."""
_left_open: list[Any] = []
"""Clusters of interrupted work, held so that nobody closes them before the process ends."""


class ClusterInterrupt(KeyboardInterrupt):
    """Ctrl-C during work on a cluster, which is left open: `leave_at_once` comes next."""


def run_interruptibly(cluster: AbstractContextManager[bool], work: Callable[[bool], T]) -> T:
    """Return ``with cluster as c: work(c)``, done by a thread while this one waits for Ctrl-C.

    An exception that a signal raises is lost where it comes inside a callback of a library. So the
    handler raises none: it sets the `interrupt_flag` of the work, which this thread looks at, too.
    Where Ctrl-C is ignored, or this is not the main thread, there is nothing to wait for.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        with cluster as elsewhere:
            return work(elsewhere)
    flag, outcome = threading.Event(), Future[T]()
    thread = threading.Thread(target=_run, args=(cluster, work, flag, outcome), daemon=True)
    before = signal.signal(signal.SIGINT, lambda *_: flag.set())
    try:
        thread.start()
        while thread.is_alive() and not flag.is_set():
            thread.join(LOOK)
        if flag.is_set():
            logging.disable(logging.CRITICAL)  # what Dask says of a cluster that goes away
            thread.join(GRACE)
            raise ClusterInterrupt
    finally:
        signal.signal(signal.SIGINT, before)
    return outcome.result()


def _run(
    cluster: AbstractContextManager[bool],
    work: Callable[[bool], T],
    flag: threading.Event,
    outcome: Future[T],
) -> None:
    """Put work(…) on a cluster, or its error, into `outcome`."""
    interrupt_flag.set(flag)
    try:
        with _deaf_children(), ExitStack() as closing:
            elsewhere = closing.enter_context(cluster)
            try:
                if not flag.is_set():
                    outcome.set_result(work(elsewhere))
            finally:
                # To close a cluster takes seconds, and workers write of what they cannot finish.
                if flag.is_set():
                    _left_open.append(closing.pop_all())
    except BaseException as error:
        outcome.set_exception(error)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Block Ctrl-C in this thread and, from their first instruction on, in processes it starts."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows, where workers ignore it themselves
        yield
        return
    given = os.environ.get(WARNINGS)
    os.environ[WARNINGS] = f"{given},{LEAKED}" if given else LEAKED
    try:
        # Started now, because it lets the signal through again in the thread that starts it.
        resource_tracker.ensure_running()
    finally:
        del os.environ[WARNINGS]
        if given is not None:
            os.environ[WARNINGS] = given
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def leave_at_once(code: int) -> NoReturn:
    """End this process and its workers, which hold nothing that a next run needs."""
    for child in multiprocessing.active_children():
        child.kill()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
