"""Whether what is about to be allocated fits into this machine, and whether it did not."""

import errno
import sys
from importlib.util import find_spec
from pathlib import Path

from simfl.core.arguments import called
from simfl.core.machine.limits import free_addresses, free_memory
from simfl.errors import InputError

_KINDS = (RuntimeError, ValueError, TypeError, OverflowError)
_UNCOUNTABLE = (
    "Storage size calculation overflowed",
    "integer multiplication overflow",
    "Overflow when unpacking long",
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "int too large to convert to C",
)
"""What PyTorch, NumPy and Python say of sizes beyond 64 bits."""


_LITTLE = 2**24
"""Bytes for which nobody asks: to look what is left takes selectors a good part of their time."""


def require_memory(n_bytes: int, what: str, cure: str = "") -> None:
    """Raise an error if `n_bytes`, where they are many, are more than there are.

    Args:
        n_bytes: about to be allocated.
        what: needs them; begins the message.
        cure: what to do about it; ends the message.

    Raises:
        InputError: they don't fit; tells how many are needed and how many there are.
    """
    if n_bytes > _LITTLE and n_bytes > (free := free_memory()):
        gib = f"{n_bytes / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} are left"
        raise InputError(f"{what} needs {gib}" + (f"; {cure}" if cure else ""))


_BESIDE_TORCH = 130 * 10**6
"""Bytes that a small run maps at least beside PyTorch's libraries; measured with its 2.13."""


def require_room_for_torch() -> None:
    """Raise an error if a limit on what this process may map leaves no room to train in.

    Where PyTorch just fits, the process ends in the midst of a library, with its words or none.

    Raises:
        InputError: it does; tells how much is needed and left.
    """
    if "torch" in sys.modules or (left := free_addresses()) > 2**40:
        return
    found = find_spec("torch")
    folder = Path(found.origin or "").parent / "lib" if found is not None else Path()
    libraries = sum(file.stat().st_size for file in folder.glob("*.so*"))
    if left < libraries + _BESIDE_TORCH:
        mib = f"{(libraries + _BESIDE_TORCH) / 2**20:,.0f} MiB, and {left / 2**20:,.0f} are left"
        raise InputError(
            f"PyTorch and a small run need {mib} by the limit on this process's memory; raise it "
            f"(ulimit -v), or give {called('--time-only', 'time_only')}"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; PyTorch has no error of its own for it on a CPU.

    Nor has anybody for what no machine could have, as its bytes are too many to be counted.
    """
    words = "can't allocate memory", "out of memory", *_UNCOUNTABLE
    return isinstance(error, MemoryError) or (
        isinstance(error, _KINDS) and any(part in str(error) for part in words)
    )


def is_short_of_memory(error: BaseException) -> bool:
    """Whether the system had too little memory left for a library or a file to be opened."""
    unmapped = "failed to map segment", "annot allocate memory"
    return (isinstance(error, OSError) and error.errno == errno.ENOMEM) or (
        isinstance(error, ImportError) and any(part in str(error) for part in unmapped)
    )


def is_short_of_threads(error: BaseException) -> bool:
    """Whether the system had no room left for a thread."""
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)
