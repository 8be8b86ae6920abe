"""Where the sockets between processes lie: their names must be short."""

import tempfile
from multiprocessing import util

LONGEST = 103
"""Characters that the name of a socket may have, on macOS; 107 on Linux."""
_ADDED = len("/pymp-12345678/listener-12345678")
"""What Python adds to the folder for temporary files."""


def keep_names_short() -> None:
    """Have sockets put into ``/tmp`` if the folder for temporary files has too long a name.

    As clusters have them.  It is done before this process has the first socket, or has no effect.
    """
    folder = tempfile.gettempdir()
    if len(folder) + _ADDED <= LONGEST:
        return
    tempfile.tempdir = "/tmp"
    try:
        util.get_temp_dir()  # makes the folder of this process's sockets, and remembers it
    finally:
        tempfile.tempdir = folder
