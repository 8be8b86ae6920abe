"""Imported by the server that starts processes, and by nobody else: what it leaves is removed.

Its socket lies in a folder of the process that began it, which removes the folder at its end,
unless it is killed.  The server ends only when all whom it serves have: nobody needs it then.
"""

import atexit
import os
import sys
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from types import TracebackType

_SERVER = os.getpid()
"""Processes that it starts go on with what is imported here."""


def _remove_folder() -> None:
    """Remove the socket and its folder."""
    address = getattr(forkserver._forkserver, "_forkserver_address", None)
    if os.getpid() != _SERVER or not isinstance(address, str):
        return
    with suppress(OSError):  # gone already, or something else is in it
        Path(address).unlink()
        Path(address).parent.rmdir()


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End without a word where a request did not come whole: who has no file left for it tells.

    That process is there, and so is its folder.
    """
    if os.getpid() == _SERVER and issubclass(kind, AssertionError | EOFError | OSError):
        atexit.unregister(_remove_folder)
    else:
        sys.__excepthook__(kind, error, trace)


atexit.register(_remove_folder)
sys.excepthook = _end
