"""How much work something is, whatever the machine: calls made, memory kept."""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """Return how many functions `action` calls, in Python or in C."""
    count = 0

    def count_calls(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def bytes_kept(action: Callable[[], object]) -> int:
    """Return how many bytes what `action` returns keeps from being freed.

    The least of three times, for other threads of the process keep something now and then.
    """
    return min(_bytes_kept(action) for _ in range(3))


def _bytes_kept(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = action()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept is not None
    return after - before
