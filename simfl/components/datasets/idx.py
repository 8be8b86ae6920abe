"""IDX, the format of MNIST's files: what is wrong with one that can't be read."""

import math
import struct
from pathlib import Path

BYTES = 8
"""Its code of unsigned bytes, the third byte of a file."""


def idx_fault(file: Path) -> str:
    """Return what is wrong with a file of unsigned bytes, by its header and size ("": nothing).

    Args:
        file: such as ``train-images-idx3-ubyte``, whose name says how many dimensions it has.

    Raises:
        OSError: it can't be opened.
    """
    dimensions = 3 if "idx3" in file.name else 1
    header = struct.Struct(f">HBB{dimensions}I")
    with file.open("rb") as opened:
        begin = opened.read(header.size)
    if begin[:4] != bytes([0, 0, BYTES, dimensions]) or len(begin) < header.size:
        return f"it does not begin as an IDX file of {dimensions} dimensions of bytes"
    has, says = file.stat().st_size, header.size + math.prod(header.unpack(begin)[3:])
    return "" if has == says else f"it has {has:,} bytes, but {says:,} by its own header"
