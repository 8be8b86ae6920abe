"""One run, one writer: whoever writes into a run's folder holds its lock.

The operating system lets go of a dead process's lock, so one that is left behind is no hindrance.
"""

import fcntl
import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from simfl.core.arguments import called
from simfl.core.files import failure
from simfl.errors import InputError

LOCK = ".lock"
PATIENCE_S = 0.1
"""For so long may others look whether it is held (`is_locked`) when it is taken."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`, which is made if it is not there.

    Raises:
        InputError: somebody else holds it, who is named; or the folder can't be made, or lies where
            there are no locks.
        RunError: the disk is full.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _take(path)
    except BlockingIOError:
        raise _held(folder) from None
    except _NoLocks as error:
        raise InputError(
            f"{folder} lies on a file system without locks ({error}), by which no two processes "
            f"write into one run; give another {called('--out', 'out')}, or mount it with locks "
            "(NFS: its lock service, or the option local_lock=flock)"
        ) from error
    except OSError as error:
        raise failure(f"can't make {folder}", error) from error
    try:
        yield
    finally:
        with suppress(OSError):  # the folder may be read-only now; what failed first is to be told
            path.unlink(missing_ok=True)
        os.close(descriptor)


def refuse_locked(folders: Iterable[Path]) -> None:
    """Refuse to begin what somebody else is at.

    Raises:
        InputError: somebody holds the lock of one of `folders`.
    """
    for folder in folders:
        if is_locked(folder):
            raise _held(folder)


def is_locked(folder: Path) -> bool:
    """Whether somebody who is still there, in a container or elsewhere, writes into `folder`.

    Nothing is written: the lock is asked for beside other readers, and let go of at once.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except PermissionError:  # it is there, and another user's
        return True
    except OSError:  # no file can be there: who makes the folder is told why
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there are no locks: `locked` tells
        return False
    finally:
        os.close(descriptor)
    return False


def _take(path: Path) -> int:
    """Return the descriptor of the lock file at `path`, held, with who holds it written into it.

    Raises:
        BlockingIOError: somebody else holds it, and still does after `PATIENCE_S`.
        _NoLocks: nobody can hold it.
        OSError: it can't be there.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _flock(descriptor)
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                os.ftruncate(descriptor, 0)
                started = time.strftime("%Y-%m-%d %H:%M:%S")
                name = f"process {os.getpid()} on {platform.node()}, started {started}"
                with suppress(OSError):  # who holds it is a courtesy; a full disk must not leave it
                    os.write(descriptor, name.encode())
                return descriptor
        except BaseException as error:  # Ctrl-C too: a notebook's process lives on
            os.close(descriptor)
            if not isinstance(error, BlockingIOError) or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        os.close(descriptor)  # whoever had it before has just let go, and removed it


class _NoLocks(Exception):
    """The file system has no locks, as it says."""


def _flock(descriptor: int) -> None:
    """Take the lock of an open file, if nobody has it.

    Raises:
        BlockingIOError: somebody does.
        _NoLocks: nobody can.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        raise _NoLocks(error.strerror) from error


def _held(folder: Path) -> InputError:
    holder = _holder(folder / LOCK)
    return InputError(f"{folder} is being written by {holder}; wait, or stop it")


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"
