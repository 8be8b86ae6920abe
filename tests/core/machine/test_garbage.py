"""Objects that only refer to each other are freed, and what remains is not looked through again."""

import gc
import weakref

from simfl.core.machine.garbage import tidy


class _Node:
    other: "_Node"


def test_cycles_are_freed_and_the_rest_is_left_alone() -> None:
    kept, lost = _Node(), _Node()
    lost.other = lost
    lives = weakref.ref(lost)
    del lost
    try:
        tidy()
        assert lives() is None
        assert not any(item is kept for item in gc.get_objects())
    finally:
        gc.unfreeze()
