"""Files that are asked for by name: each appears whole or not at all."""

import errno
import os
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


def similar_file(path: Path, suffixes: Sequence[str] = ()) -> str:
    """Return a hint at a file beside `path` with a similar name ("": there is none).

    Args:
        path: of a file that is not there.
        suffixes: which the file may have (none: that of `path`).
    """
    wanted = suffixes or (path.suffix,)
    try:
        files = [file for file in path.parent.iterdir() if file.suffix in wanted]
    except OSError:
        return ""
    names = {file.stem: str(file) for file in sorted(files)}
    close = get_close_matches(path.stem, names, n=1)
    return f"; did you mean '{names[close[0]]}'?" if close else ""


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


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written, which appears at `path` once the body has ended.

    Its folder is made if need be; until then its name is another for each process.
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
