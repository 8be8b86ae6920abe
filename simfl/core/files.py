"""Files that are asked for by name: each appears whole or not at all."""

import errno
import glob
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from simfl.errors import InputError, RunError, SimflError

NAMED_WRONGLY = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EACCES,
    errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG,
)  # fmt: skip
"""What an operating system says of a place that its user may not or can't have meant."""
_ABANDONED_S = 60.0
"""So old is a half whose process is not seen here, and not perhaps at it in another container."""


def similar_file(path: Path, suffixes: Sequence[str] = ()) -> str:
    """Return a hint at a file beside `path` with a similar name, or at what a link leads to.

    ("": there is none.)

    Args:
        path: of a file that is not there.
        suffixes: which the file may have (none: that of `path`).
    """
    if path.is_symlink():
        return f"; it is a link to {os.readlink(path)}, which is not there"
    wanted = suffixes or (path.suffix,)
    try:
        files = [file for file in path.parent.iterdir() if file.suffix in wanted]
    except OSError:
        return ""
    names = {file.stem: str(file) for file in sorted(files)}
    close = get_close_matches(path.stem, names, n=1)
    return f"; did you mean '{names[close[0]]}'?" if close else ""


def no_file(path: Path) -> str:
    """Return what lies at `path` that can't be read as a file ("": nothing does, or it can).

    Opening a named pipe would wait for whoever writes to it, perhaps nobody.  A shell's own pipes,
    ``/dev/stdin`` or ``<(...)``, are written to.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    if stat.S_ISSOCK(mode):
        return "a socket"
    named = not os.path.realpath(path).startswith(("/dev/", "/proc/"))
    return "a named pipe" if stat.S_ISFIFO(mode) and named else ""


def failure(what: str, error: OSError) -> SimflError:
    """Return what to tell of an `error`: bad input if another name would help, else a fault.

    Args:
        what: did not work; begins the message.
        error: why.
    """
    kind = InputError if error.errno in NAMED_WRONGLY else RunError
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return kind(f"{what}: a file lies where its folder is to be")
    return kind(f"{what}: {error.strerror or error}")


def remove_abandoned(folder: Path, name: str = "*", old_s: float = 0.0) -> None:
    """Remove what processes that were killed had begun to write into a folder.

    What is being written by another process that lives on this machine stays.

    Args:
        folder: which need not be there.
        name: of the file, ``*``: of any.
        old_s: for so long at least nothing has been written to it.
    """
    for half in folder.glob(f".{name}.partial"):
        with suppress(FileNotFoundError):
            if not _lives(half.name.split(".")[-2]) and time.time() - half.stat().st_mtime >= old_s:
                half.unlink()


def _lives(pid: str) -> bool:
    """Whether a process other than this one has a number, if it is one."""
    if not pid.isdigit() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is another user's
        return True
    return True


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written, which appears at `path` once the body has ended.

    Its folder is made if need be; until then its name is another for each process.  What a process
    left of the same file when it was killed is removed.
    """
    path = Path(os.path.realpath(path))  # a link is followed, not replaced
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder; give a file")
        with path.open("wb") as file:  # such as /dev/null, which is not to be replaced either
            yield file
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        with suppress(OSError):
            remove_abandoned(path.parent, f"{glob.escape(path.name)}.*", _ABANDONED_S)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_output(path: Path, data: bytes) -> None:
    """Write a whole file or nothing.

    Raises:
        InputError: it can't be there.
        RunError: the disk is full.  Nothing is left behind.
    """
    try:
        with whole(path) as file:
            file.write(data)
    except OSError as error:
        raise failure(f"can't write {path}", error) from error
