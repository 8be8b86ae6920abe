"""IDX, the format of MNIST's files: read, and what is wrong with one that can't be."""

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BYTES = 8
"""Its code of unsigned bytes, the third byte of a file."""


def read_idx(file: Path) -> NDArray[np.uint8]:
    """Return the array that a file of unsigned bytes holds, of its shape; it can only be read.

    Raises:
        OSError: it can't be opened.
        ValueError: something is wrong with it, see `idx_fault`.
    """
    if fault := idx_fault(file):
        raise ValueError(fault)
    content, header = file.read_bytes(), _header(file)
    shape = header.unpack_from(content)[3:]
    return np.frombuffer(content, dtype=np.uint8, offset=header.size).reshape(shape)


def idx_fault(file: Path) -> str:
    """Return what is wrong with a file of unsigned bytes, by its header and size ("": nothing).

    Args:
        file: such as ``train-images-idx3-ubyte``, whose name says how many dimensions it has.

    Raises:
        OSError: it can't be opened.
    """
    header, dimensions = _header(file), _dimensions(file)
    with file.open("rb") as opened:
        begin = opened.read(header.size)
    if begin[:4] != bytes([0, 0, BYTES, dimensions]) or len(begin) < header.size:
        return f"it does not begin as an IDX file of {dimensions} dimensions of bytes"
    has, says = file.stat().st_size, header.size + math.prod(header.unpack(begin)[3:])
    return "" if has == says else f"it has {has:,} bytes, but {says:,} by its own header"


def _dimensions(file: Path) -> int:
    """Return how many dimensions a file's array has, by its name."""
    return 3 if "idx3" in file.name else 1


def _header(file: Path) -> struct.Struct:
    """Return the form of a file's first bytes: zeros, its code, and its dimensions."""
    return struct.Struct(f">HBB{_dimensions(file)}I")
