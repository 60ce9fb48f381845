"""How many threads a process may start by default, so that all processes together fit the cores."""

from __future__ import annotations

import math
import os
import sys
from functools import cache
from pathlib import Path

from pursuit.base.errors import InputError
from pursuit.base.validation import count

CGROUPS = Path("/sys/fs/cgroup")
GROUPS_OF_PROCESS = Path("/proc/self/cgroup")


def thread_count(threads: int | None) -> int:
    """`threads`, else ``$PURSUIT_THREADS``, else what this process may use.

    That is ``$OMP_NUM_THREADS``, which process pools and clusters set for their workers, one in
    other processes that `multiprocessing` has started, else every core: of those that the process
    may run on, as many as the quota of its container pays for.
    """
    if threads is not None:
        return count("threads", threads, minimum=1)
    wanted = os.environ.get("PURSUIT_THREADS")
    if wanted is not None:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise InputError(f"PURSUIT_THREADS: expected a number of at least 1, got {wanted!r}")
        return int(wanted)
    pool = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if pool.isdecimal() and int(pool) > 0:
        return min(int(pool), cores())
    # A process that was started by multiprocessing has it loaded; it takes time to import.
    processes = sys.modules.get("multiprocessing.process")
    started = processes is not None and processes.parent_process() is not None
    return 1 if started else cores()


def cores() -> int:
    """Cores that this process may use, by affinity and by the quota of its container."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, quota())))


@cache
def quota() -> float:
    """Seconds of CPU a second that the control groups of this process grant; inf: no limit.

    It is read once: a call of `solve` may take less time than that.
    """
    try:
        lines = GROUPS_OF_PROCESS.read_text().splitlines()
    except OSError:
        return math.inf
    limits = [math.inf]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers == "":  # version 2
            limits += [_one(group / "cpu.max") for group in _upwards(CGROUPS, path)]
        elif "cpu" in names:
            roots = CGROUPS / controllers, CGROUPS / "cpu"
            limits += [_two(group) for root in roots for group in _upwards(root, path)]
    return min(limits)


def _upwards(root: Path, path: str) -> list[Path]:
    """A group and those that it is part of; inside a container its own is often the root."""
    group = root / path.strip("/")
    return [group, *(parent for parent in group.parents if parent.is_relative_to(root))]


def _one(file: Path) -> float:
    """Version 2: "quota period" or "max period" in one file."""
    try:
        granted, period = file.read_text().split()
        return math.inf if granted == "max" else int(granted) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def _two(group: Path) -> float:
    """Version 1: quota and period in files of their own, −1 for none."""
    try:
        granted = int((group / "cpu.cfs_quota_us").read_text())
        period = int((group / "cpu.cfs_period_us").read_text())
        return granted / period if granted > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf
