"""An exclusive lock on a folder, which the operating system releases when its process ends."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

LOCK = "lock"
"""The name of the lock file, which is in the folder as long as the lock is held."""
HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What file systems without locks answer; a run there is not protected, as on no system before."""


class FolderLock:
    """Lock a folder, or raise `BlockingIOError` where another job has locked it.

    A process that is killed leaves the file and no lock: what is locked is the open file.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / LOCK
        self._descriptor = self._acquire()

    def _acquire(self) -> int:
        while True:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(descriptor)
                if self._is_current(descriptor):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _is_current(self, descriptor: int) -> bool:
        """Whether the file has its name still: whoever held the lock before may have removed it."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._file))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Unlock the folder, and remove the file."""
        # Removed while it is locked: later, it could be the file of the next holder.
        with suppress(OSError):
            self._file.unlink()
        os.close(self._descriptor)
        if os.name == "nt":  # which removes no open file, and so none of the next holder either
            with suppress(OSError):
                self._file.unlink()


def _lock(descriptor: int) -> None:
    """Lock an open file without waiting."""
    try:
        _system_lock(descriptor)
    except OSError as error:
        if error.errno in HELD:
            raise BlockingIOError(error.errno, "locked by another job") from None
        if error.errno not in UNSUPPORTED:
            raise


def _system_lock(descriptor: int) -> None:
    try:
        fcntl: Any = import_module("fcntl")
    except ImportError:  # Windows
        msvcrt: Any = import_module("msvcrt")
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
