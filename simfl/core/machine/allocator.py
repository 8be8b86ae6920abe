"""What the C library does with memory that is given back to it."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

KEPT_BYTES = 2**30
"""What is kept at most at the end of the heap."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
"""As in glibc's malloc.h."""
_USUAL = {_MMAP_MAX: 65_536, _MMAP_THRESHOLD: 2**25, _TRIM_THRESHOLD: 2**26}
"""What glibc comes to by itself once large blocks have been freed."""

_OWN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_")
"""Who set one of these variables decided it otherwise, as who sets its tunables."""

_keeps = False


def keep_freed_memory() -> bool:
    """Let glibc keep memory that is freed, large blocks' too, for whoever asks next.

    Left to itself it gives them back to the system, which clears every page anew when the next step
    asks for tensors of the same size: up to half of the time of a step.  It is so until a
    `freed_memory_returned` ends.

    Returns:
        Whether it does: it may be another library, or the user's to decide.
    """
    global _keeps
    libc = _glibc()
    if not _keeps and libc is not None:
        _keeps = bool(libc.mallopt(_TRIM_THRESHOLD, KEPT_BYTES) and libc.mallopt(_MMAP_MAX, 0))
    return _keeps


@contextmanager
def freed_memory_returned() -> Iterator[None]:
    """Give the system back at the end what has been kept: the process may do other things then."""
    try:
        yield
    finally:
        return_freed_memory()


def return_freed_memory() -> None:
    """Give the system back what has been kept, and keep no more."""
    global _keeps
    libc = _glibc()
    if _keeps and libc is not None:
        for option, value in _USUAL.items():
            libc.mallopt(option, value)
        libc.malloc_trim(0)
        _keeps = False


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, and nobody has told it what to do."""
    tuned = "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "")
    if sys.platform != "linux" or tuned or any(name in os.environ for name in _OWN):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") else None  # musl has none
