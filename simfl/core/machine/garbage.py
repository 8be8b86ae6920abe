"""How often Python looks for objects that only refer to each other, and through which."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_collections() -> Iterator[None]:
    """Let Python look for reference cycles less often.

    Events and processes refer to each other, so cycles are made all the time; at Python's own pace
    looking for them takes a third of a large fleet's host time, and a tenth of what it takes to
    gather a timeline, in which there are none.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def set_aside() -> Iterator[None]:
    """Let Python not look through what there is already: not after each run, nor at each call."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def tidy() -> None:
    """Free what a run has left, objects that refer to each other: its data would stay long.

    What remains, such as the modules that it has imported, is not looked through next time.
    """
    gc.collect()
    gc.freeze()
