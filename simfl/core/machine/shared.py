"""Values whose large arrays lie once in memory, however many processes of this machine have them.

They lie in files without names, which each process maps for itself: what one writes, nobody else
sees.  The files vanish with the last process that holds them, however it ends.
"""

import errno
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

import numpy as np

from simfl.core.machine.movable import LARGE_BYTES, file_of, map_file, movable_array


@dataclass(frozen=True, eq=False)
class Shared:
    """A pickle, the files of its large arrays, and where in its file each lies.  See `share`."""

    payload: bytes
    files: Sequence[int]
    places: Sequence[slice]

    def value(self) -> Any:
        """Return what `share` was given, its large arrays in the memory that is shared.

        Raises:
            OSError: there is no room for it.
        """
        buffers = []
        for file, place in zip(self.files, self.places, strict=True):
            own = os.dup(file)
            try:
                buffers.append(map_file(own)[place])
            except OSError:
                os.close(own)
                raise
        return pickle.loads(self.payload, buffers=buffers)

    def send(self, channel: Connection) -> None:
        """Send it to a process of this machine, which has files of its own then.

        Raises:
            OSError: nobody is there.
        """
        channel.send((self.payload, self.places))
        for file in self.files:
            try:
                send_handle(channel, file, 0)  # the process is named on Windows only
            except OSError:  # this process has no room for another file: a byte without one
                os.write(channel.fileno(), b" ")

    def named(self) -> "Named":
        """Return by what a process can open it that nothing can be sent to, while this one lives.

        That is one of this machine and this user.
        """
        paths = [f"/proc/{os.getpid()}/fd/{file}" for file in self.files]
        return Named(self.payload, paths, [_identity(file) for file in self.files], self.places)

    def close(self) -> None:
        """Close the files; values stay."""
        for file in self.files:
            os.close(file)


@dataclass(frozen=True, eq=False)
class Named:
    """What another process shares, its files by name.  See `Shared.named`."""

    payload: bytes
    paths: Sequence[str]
    identities: Sequence[tuple[int, ...]]
    places: Sequence[slice]

    def open(self) -> Shared | None:
        """Return it (None: it can't be had: it is closed, or another machine's or user's)."""
        files = list[int]()
        try:
            for path in self.paths:
                files.append(os.open(path, os.O_RDWR))
        except OSError:
            found = False
        else:  # in a container the number is another process's
            found = [_identity(file) for file in files] == list(self.identities)
        opened = Shared(self.payload, files, self.places)
        if not found:
            opened.close()
        return opened if found else None


def _identity(file: int) -> tuple[int, ...]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino, status.st_size


def receive_shared(channel: Connection) -> Shared | None:
    """Return what `Shared.send` sent; None: one of the two has no room for so many files.

    Raises:
        EOFError, OSError: nobody is there.
    """
    payload, places = channel.recv()
    files = []
    for _ in places:  # each is taken from the channel, or the next message could not be read
        try:
            files.append(recv_handle(channel))
        except RuntimeError:  # it came without a file
            continue
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            os.read(channel.fileno(), 1)
    received = Shared(payload, files, places)
    if len(files) == len(places):
        return received
    received.close()
    return None


def share(value: object) -> Shared | None:
    """Return `value` as other processes can be sent it; close it in the end.

    Movable arrays are moved to files, other large ones are copied.

    Returns:
        None if this system has no such files, or no room for them.
    """
    files: list[int] = []
    places: list[slice] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as raw:
            if raw.nbytes < LARGE_BYTES:
                return True
            file, first = _filed(raw)
            files.append(file)
            places.append(slice(first, first + raw.nbytes))
        return False

    try:
        payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=is_small)
    except BaseException as error:
        Shared(b"", files, places).close()
        if isinstance(error, OSError):
            return None
        raise
    return Shared(payload, files, places)


def _filed(raw: memoryview) -> tuple[int, int]:
    """Return the descriptor of a file that holds these bytes, and where in it they begin.

    Raises:
        OSError: there is no room for it.
    """
    array = np.frombuffer(raw, np.uint8)
    place = file_of(array.ctypes.data, array.nbytes)
    if place is None:
        copy = movable_array(array.shape, np.uint8)
        copy[:] = array
        place = file_of(copy.ctypes.data, copy.nbytes)
    if place is None:
        raise OSError("no room for a file without a name")
    return os.dup(place[0]), place[1]
