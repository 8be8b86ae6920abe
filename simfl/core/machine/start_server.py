"""Imported by the server that starts processes, and by nobody else: what it leaves is removed.

Its socket lies in a folder of the process that began it, which removes the folder at its end,
unless it is killed.  The server ends only when all whom it serves have: nobody needs it then.
"""

import atexit
import os
import socket
import sys
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from types import FrameType, TracebackType


def _address() -> str | None:
    """Return the path of the server's socket: it notes it only once everything is imported."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not forkserver.main.__code__:
        frame = frame.f_back
    if frame is None:
        return None
    with socket.socket(fileno=os.dup(frame.f_locals["listener_fd"])) as listener:
        return str(listener.getsockname())


_ADDRESS = _address()
_SERVER, _SERVED = os.getpid(), os.getppid()
"""Processes that it starts go on with what is imported here."""


def _end() -> None:
    """End the server, without its socket and the folder of that.

    At once: to take apart all that PyTorch has made takes Python as long as half a second.
    """
    if os.getpid() != _SERVER:
        return
    if _ADDRESS is not None:
        with suppress(OSError):  # gone already, or something else is in it
            Path(_ADDRESS).unlink()
            Path(_ADDRESS).parent.rmdir()
    os._exit(0)


class _StillServes:
    """Ends the server between two imports if its process is gone: all of them take seconds."""

    def find_spec(self, *_: object) -> None:
        """Find nothing."""
        if os.getppid() != _SERVED:
            _end()


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End without a word where a request did not come whole: who has no file left for it tells.

    That process is there, and so is its folder.
    """
    if os.getpid() == _SERVER and issubclass(kind, AssertionError | EOFError | OSError):
        atexit.unregister(_end)
    else:
        sys.__excepthook__(kind, error, trace)


atexit.register(_end)
sys.excepthook = _tell
sys.meta_path.insert(0, _StillServes())
