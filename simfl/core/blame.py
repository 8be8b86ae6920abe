"""Errors of code that users wrote, told as theirs: what raised, and in which line."""

import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from simfl.errors import InputError, SimflError

_SIMFL = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


@contextmanager
def users_code(what: str, owner: type | None = None) -> Iterator[None]:
    """Turn what code raises that is not simfl's own into an error of the user's input.

    Args:
        what: runs it, such as ``model 'mine:Net'``.
        owner: class of the component, whose file is the user's wherever it lies.

    Raises:
        InputError: names the exception, the file and the line.
    """
    try:
        yield
    except SimflError:
        raise
    except Exception as error:
        place = _place(error.__traceback__, owner)
        if place is None:
            raise
        raise InputError(f"{what} raised {type(error).__name__}: {error} ({place})") from error


def _place(raised: TracebackType | None, owner: type | None) -> str | None:
    """Return the innermost line that is the user's, None if there is none."""
    from inspect import getsourcefile

    own = None if owner is None else getsourcefile(owner)
    for frame in reversed(traceback.extract_tb(raised)):
        file = frame.filename
        if file.startswith((_SIMFL, "<")):
            continue
        if file == own or not file.startswith(_LIBRARIES):
            return f"{file}:{frame.lineno}"
    return None
