"""What the C library does with memory that is given back to it."""

import ctypes
import os
import sys
from functools import cache

KEPT_BYTES = 2**30
"""What is kept at most at the end of the heap."""

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""As in glibc's malloc.h."""

_OWN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_")
"""Who set one of these variables decided it otherwise."""


@cache
def keep_freed_memory() -> bool:
    """Let glibc keep memory that is freed, large blocks' too, for whoever asks next.

    Left to itself it gives them back to the system, which clears every page anew when the next step
    asks for tensors of the same size: up to half of the time of a step.

    Returns:
        Whether it does: it may be another library, or the user's to decide.
    """
    if sys.platform != "linux" or any(name in os.environ for name in _OWN):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl
        return False
    return bool(mallopt(_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_MMAP_MAX, 0))
