"""Pickles whose large tensors stay in memory that all processes of the machine can map.

Either in anonymous files, or in arrays that somebody else shares (Ray's object store).  Anonymous
files (``memfd``) rather than ``/dev/shm``: they need no mount of the right size, have no
name, and vanish with the last process that holds them, however it ends.
"""

import io
import math
import mmap
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.machine.movable import file_of, write_at

if TYPE_CHECKING:  # PyTorch is imported late: listing executors must not wait for it
    import torch

LARGE_BYTES = 64 * 1024
MAPPED_BYTES = 2**20
"""Arrays of a message from here on lie in memory of their own; smaller ones are sooner sent."""
ALIGNED_BYTES = 64


@dataclass(frozen=True, eq=False)
class Packed:
    """A pickle, the file descriptors of its large tensors, and where in its file each begins.

    See `pack`.
    """

    payload: bytes
    fds: Sequence[int]
    offsets: Sequence[int]

    def unpack(self) -> Any:
        """Return what `pack` was given; large tensors lie in shared memory, until written to."""
        return _unpickled(self.payload, self._mapped)

    def _mapped(self, index: int) -> memoryview:
        """Return the memory of a tensor and what lies behind it; it keeps the map alive."""
        fd = self.fds[index]
        memory = mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_COPY)
        return memoryview(memory)[self.offsets[index] :]

    def send(self, channel: Connection) -> None:
        """Send it to a process of this machine, which gets file descriptors of its own."""
        channel.send((self.payload, self.offsets))
        for fd in self.fds:
            _send_fd(channel, fd)

    def close(self) -> None:
        """Close the file descriptors; what was unpacked stays."""
        for fd in self.fds:
            os.close(fd)


def receive_packed(channel: Connection) -> Packed:
    """Return what `Packed.send` sent."""
    payload, offsets = channel.recv()
    return Packed(payload, [recv_handle(channel) for _ in offsets], offsets)


def _send_fd(channel: Connection, fd: int) -> None:
    send_handle(channel, fd, 0)  # the process is named on Windows only


def pack(value: object) -> Packed:
    """Return `value` pickled, its large tensors in files without names; close it in the end.

    Movable arrays are moved there, others are copied.
    """
    fds: list[int] = []
    offsets: list[int] = []

    def keep(flat: "torch.Tensor") -> None:
        import torch

        if (place := file_of(flat.data_ptr(), len(flat))) is not None:
            fds.append(os.dup(place[0]))
            offsets.append(place[1])
            return
        fd = _anonymous_file()
        os.ftruncate(fd, len(flat))
        with mmap.mmap(fd, len(flat)) as memory:
            shared = torch.frombuffer(memory, dtype=torch.uint8)
            shared.copy_(flat)
            del shared
        fds.append(fd)
        offsets.append(0)

    return Packed(_pickled(value, keep), fds, offsets)


def send(channel: Connection, value: object) -> None:
    """Send `value` to a process of this machine; large arrays lie in memory that both can map."""
    large: list[memoryview] = []

    def small(buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as raw:
            if raw.nbytes < MAPPED_BYTES:
                return True
        large.append(buffer.raw())
        return False

    payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=small)
    places = _side_by_side([raw.nbytes for raw in large])
    try:
        fd = _filled(large, places) if large else None
    except OSError:  # no descriptor is left, or no memory
        payload, places, fd = pickle.dumps(value, pickle.HIGHEST_PROTOCOL), [], None
    try:
        channel.send((payload, places))
        if fd is not None:
            _send_fd(channel, fd)
    finally:
        if fd is not None:  # whoever it was sent to may be dead
            os.close(fd)


def receive(channel: Connection) -> Any:
    """Return what was sent; large arrays are views of memory that is now this process's own."""
    payload, places = channel.recv()
    if not places:
        return pickle.loads(payload)
    fd = recv_handle(channel)
    try:
        memory = memoryview(mmap.mmap(fd, places[-1].stop))
    finally:
        os.close(fd)
    return pickle.loads(payload, buffers=[memory[place] for place in places])


def _filled(large: Sequence[memoryview], places: Sequence[slice]) -> int:
    """Return the descriptor of an anonymous file that holds buffers at their places."""
    fd = _anonymous_file()
    try:
        for place, raw in zip(places, large, strict=True):
            write_at(fd, raw, place.start)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _side_by_side(sizes: Sequence[int]) -> list[slice]:
    """Return where buffers of so many bytes lie, each aligned for whatever it holds."""
    places, first = [], 0
    for size in sizes:
        places.append(slice(first, first + size))
        first += -(-size // ALIGNED_BYTES) * ALIGNED_BYTES
    return places


def pack_arrays(value: object) -> tuple[bytes, list[NDArray[np.uint8]]]:
    """Return `value` pickled, and its large tensors as arrays `(bytes,)`."""
    arrays: list[NDArray[np.uint8]] = []
    return _pickled(value, lambda flat: arrays.append(flat.numpy())), arrays


def unpack_arrays(payload: bytes, arrays: Sequence[NDArray[np.uint8]]) -> Any:
    """Return what `pack_arrays` was given; large tensors are views of `arrays` `(bytes,)`.

    These may lie in memory that can't be written.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given buffer is not writable")
        return _unpickled(payload, lambda index: arrays[index].data)


def _pickled(value: object, keep: "Callable[[torch.Tensor], None]") -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, keep).dump(value)
    return buffer.getvalue()


def _unpickled(payload: bytes, fetch: Callable[[int], Any]) -> Any:
    return _Unpickler(io.BytesIO(payload), fetch).load()


class _Pickler(pickle.Pickler):
    """Gives the bytes of large tensors to `keep`, and pickles their numbers instead."""

    def __init__(self, buffer: io.BytesIO, keep: "Callable[[torch.Tensor], None]") -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self._keep = keep
        self._count = 0

    def persistent_id(self, value: Any) -> "tuple[int, tuple[int, ...], torch.dtype] | None":
        import torch

        if type(value) is not torch.Tensor or value.device.type != "cpu":
            return None
        if value.numel() * value.element_size() < LARGE_BYTES or value.is_quantized:
            return None
        self._keep(value.detach().contiguous().view(-1).view(torch.uint8))
        self._count += 1
        return self._count - 1, tuple(value.shape), value.dtype


class WithoutTensors(_Pickler):
    """Pickles everything but large tensors, to see whether that can be done at all."""

    def __init__(self, buffer: io.BytesIO, _protocol: int) -> None:
        super().__init__(buffer, lambda _flat: None)


class _Unpickler(pickle.Unpickler):
    """Fetches the memory of large tensors, or more, by their numbers."""

    def __init__(self, buffer: io.BytesIO, fetch: Callable[[int], Any]) -> None:
        super().__init__(buffer)
        self._fetch = fetch

    def persistent_load(self, key: "tuple[int, tuple[int, ...], torch.dtype]") -> "torch.Tensor":
        import torch

        index, shape, dtype = key
        n_bytes = math.prod(shape) * dtype.itemsize
        flat = torch.frombuffer(self._fetch(index), dtype=torch.uint8, count=n_bytes)
        return flat.view(dtype).view(shape)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("simfl")
    fd, path = tempfile.mkstemp()
    os.unlink(path)
    return fd
