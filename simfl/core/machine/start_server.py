"""Imported by the server that starts processes, and by nobody else: what it leaves is removed.

Its socket lies in a folder of the process that began it, which removes the folder at its end,
unless it is killed.  The server ends only when all whom it serves have: nobody needs it then.
"""

import atexit
import os
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path


def _remove_folder(server: int) -> None:
    """Remove the socket and its folder, in the process with this number alone."""
    address = getattr(forkserver._forkserver, "_forkserver_address", None)
    if os.getpid() != server or not isinstance(address, str):
        return
    with suppress(OSError):  # gone already, or something else is in it
        Path(address).unlink()
        Path(address).parent.rmdir()


atexit.register(_remove_folder, os.getpid())
