"""Large arrays whose memory can become that of a file, which other processes map, as it stands.

A copy for them would be kept beside the original.  Before they are there, memory of this process
alone is better: the kernel gives it in large pages, from which random rows are read faster.
"""

import ctypes
import mmap
import os
import sys
import weakref
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE_BYTES = 16 * 2**20
"""Smaller arrays are sooner copied."""
STEP_BYTES = 32 * 2**20
"""So much is held twice while an array moves."""
SHIFT_BYTES = 32
"""Where an array begins on its first page: MNIST's rows are read slower if all of them begin where
a cache line does.  (NumPy's own large arrays begin 16 bytes behind the begin of a page.)"""
MAP_FIXED = 0x10
"""Linux's flag: map there, whatever is there now."""

_BLOCKS: "dict[int, _Block]" = {}
"""By their addresses."""


def movable_array(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of this shape and any contents; where it is large, `file_of` can move it."""
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < LARGE_BYTES or not can_move():
        return np.empty(shape, dtype)
    try:
        memory = mmap.mmap(-1, n_bytes + SHIFT_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return np.empty(shape, dtype)  # which tells how much there is no room for
    with suppress(OSError):  # a kernel without large pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(memory, dtype, offset=SHIFT_BYTES).reshape(shape)
    block = _Block(array.ctypes.data - SHIFT_BYTES, n_bytes + SHIFT_BYTES)
    _BLOCKS[block.address] = block
    weakref.finalize(memory, block.forget)
    return array


def map_file(file: int) -> memoryview:
    """Return the memory of a file that `file_of` returned, to this process or another.

    What is written there is this process's own.  Arrays in it can be told by `file_of` again.

    Args:
        file: its descriptor, which is closed with the memory.

    Raises:
        OSError: there is no room for it; the descriptor stays open.
    """
    memory = mmap.mmap(file, os.fstat(file).st_size, access=mmap.ACCESS_COPY)
    block = _Block(np.frombuffer(memory, np.uint8).ctypes.data, len(memory), file)
    _BLOCKS[block.address] = block
    weakref.finalize(memory, block.forget)
    return memoryview(memory)


def can_move() -> bool:
    """Whether this system has such files, and memory can become theirs."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and hasattr(os, "memfd_create")


def file_of(address: int, n_bytes: int) -> tuple[int, int] | None:
    """Return the descriptor of a file that is this part of memory, and where in it the part begins.

    Nobody notices that an array moves there; the file stays open as long as there is the array.

    Returns:
        None if this is no memory of a `movable_array`, or there is no room for the file.
    """
    for block in list(_BLOCKS.values()):  # some may be forgotten meanwhile
        if block.address <= address and address + n_bytes <= block.address + block.n_bytes:
            with suppress(OSError):
                return block.file(), address - block.address
    return None


def write_at(file: int, data: memoryview, first: int) -> None:
    """Write all of `data` `(bytes,)` into a file from `first` on: faster than through a map of it.

    Raises:
        OSError: there is no room for it.
    """
    written = 0
    while written < len(data):
        written += os.pwrite(file, data[written:], first + written)


class _Block:
    """The memory of an array.

    Args:
        address: where it begins, on a page of its own.
        n_bytes: how long it is.
        file: the descriptor of its file, if it is one's already.
    """

    def __init__(self, address: int, n_bytes: int, file: int | None = None) -> None:
        self.address, self.n_bytes = address, n_bytes
        self._file = file

    def file(self) -> int:
        """Return the descriptor of its file; it becomes that file's when first asked.

        Raises:
            OSError: there is no room for it.
        """
        if self._file is None:
            file = os.memfd_create("simfl-data")
            try:
                os.ftruncate(file, self.n_bytes)
                for first in range(0, self.n_bytes, STEP_BYTES):
                    self._move(file, first, min(STEP_BYTES, self.n_bytes - first))
            except OSError:
                os.close(file)  # what was moved goes on as it is now
                raise
            self._file = file
        return self._file

    def _move(self, file: int, first: int, n_bytes: int) -> None:
        """Write `n_bytes` from `first` on into the file, and map that part of it over them."""
        place = self.address + first
        part = memoryview((ctypes.c_char * n_bytes).from_address(place))
        write_at(file, part, first)
        access, how = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED
        if _libc().mmap(place, n_bytes, access, how, file, first) != place:
            raise OSError(ctypes.get_errno(), "can't map a file")

    def forget(self) -> None:
        """Close its file, once its memory is given back."""
        _BLOCKS.pop(self.address, None)
        if self._file is not None:
            os.close(self._file)


@cache
def _libc() -> ctypes.CDLL:
    """Return the C library, whose `mmap` takes an address, as Python's does not."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    number = ctypes.c_int
    libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, number, number, number, ctypes.c_long
    return libc
