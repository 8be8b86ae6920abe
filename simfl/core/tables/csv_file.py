"""CSV files, plain or gzipped: how they are opened, and what is wrong with them, in words."""

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import UnsupportedOperation
from pathlib import Path
from typing import TextIO

from simfl.core.downloads.origins import how_to_get
from simfl.core.files import no_file, similar_file
from simfl.core.words import numbered
from simfl.errors import InputError

_OTHERS = (".bz2", ".zip", ".xz", ".zst", ".tar", ".tgz", ".7z")


@contextmanager
def open_csv(path: Path, what: str = "") -> Iterator[TextIO]:
    """Open a CSV file, plain or gzipped (``.gz``).

    Args:
        path: where it is.
        what: it is, for messages.

    Raises:
        InputError: whatever goes wrong with the file while it is read.
    """
    named = f"{what} {path}".strip()
    if path.suffix in _OTHERS:
        raise InputError(f"can't read {named}: expected a CSV file, plain or gzipped (.gz)")
    device = "a device" if path.is_char_device() or path.is_block_device() else ""
    if what_else := device or no_file(path):
        raise InputError(f"can't read {named}: it is {what_else}, expected a file")
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        # Spreadsheets write a byte order mark first.
        with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
            if text.seekable():
                _refuse_other_marks(path, text.readline())
                text.seek(0)
            yield text
    except UnsupportedOperation:  # whoever reads this table goes back in it
        raise InputError(f"can't read {named}: it is a pipe, expected a file") from None
    except UnicodeError:
        with opener(path, "rb") as lines:
            line = _first_undecodable(lines)
        raise InputError(
            f"can't read {named}: line {line} is not UTF-8 text; save it as CSV in UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        missing = isinstance(error, FileNotFoundError)
        hint = (how_to_get(path.name) or similar_file(path)) if missing else ""
        raise InputError(f"can't read {named}: {why}{hint}") from None


def _refuse_other_marks(path: Path, header: str) -> None:
    """Refuse a file whose columns something else than commas separates, as some spreadsheets do."""
    for mark in (";", "\t"):
        if mark in header and "," not in header:
            name = "a tab" if mark == "\t" else repr(mark)
            raise InputError(f"{path}:1: separated by {name}? save it with commas")


def refuse_twice(file: object, header: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse a file that has one of `columns` more than once.

    Raises:
        InputError: it does.
    """
    for column in columns:
        if header.count(column) > 1:
            raise InputError(f"{file}: more than one column is called {column!r}")


def not_wide(file: Path | str, line: int, width: int, cells: int) -> str:
    """Return what is wrong with a row that has more cells than its header has, or fewer."""
    columns = numbered(width, "column")
    return f"{file}:{line}: expected a cell for each of the header's {columns}, got {cells}"


def _first_undecodable(lines: Iterable[bytes]) -> int:
    """Return the number of the first line that is not UTF-8 (0: all are)."""
    for number, line in enumerate(lines, start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return 0
