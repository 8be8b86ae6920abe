"""Pickles whose large tensors stay in memory that all processes of the machine can map.

Anonymous files (``memfd``) rather than ``/dev/shm``: they need no mount of the right size, have no
name, and vanish with the last process that holds them, however it ends.
"""

import io
import mmap
import os
import pickle
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # PyTorch is imported late: listing executors must not wait for it
    import torch

LARGE_BYTES = 64 * 1024


def pack(value: object) -> tuple[bytes, list[int]]:
    """Return `value` pickled, and the file descriptors of its large tensors."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(value)
    return buffer.getvalue(), pickler.fds


def unpack(payload: bytes, fds: list[int]) -> Any:
    """Return what `pack` was given; large tensors are views of shared memory."""
    return _Unpickler(io.BytesIO(payload), fds).load()


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.fds: list[int] = []

    def persistent_id(self, value: Any) -> "tuple[int, tuple[int, ...], torch.dtype] | None":
        import torch

        if type(value) is not torch.Tensor or value.device.type != "cpu":
            return None
        if value.numel() * value.element_size() < LARGE_BYTES or value.is_quantized:
            return None
        flat = value.detach().contiguous().view(-1).view(torch.uint8)
        fd = _anonymous_file()
        os.ftruncate(fd, len(flat))
        with mmap.mmap(fd, len(flat)) as memory:
            shared = torch.frombuffer(memory, dtype=torch.uint8)
            shared.copy_(flat)
            del shared
        self.fds.append(fd)
        return len(self.fds) - 1, tuple(value.shape), value.dtype


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, fds: list[int]) -> None:
        super().__init__(buffer)
        self._fds = fds

    def persistent_load(self, key: "tuple[int, tuple[int, ...], torch.dtype]") -> "torch.Tensor":
        import torch

        index, shape, dtype = key
        fd = self._fds[index]
        memory = mmap.mmap(fd, os.fstat(fd).st_size)  # kept alive by the tensor
        return torch.frombuffer(memory, dtype=torch.uint8).view(dtype).view(shape)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("simfl")
    fd, path = tempfile.mkstemp()
    os.unlink(path)
    return fd
