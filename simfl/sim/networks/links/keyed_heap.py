"""A heap of items by numbers that change: which has the least."""

import math
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class KeyedHeap(Generic[T]):
    """Numbers of items, of which the least is asked for; O(log n) a change."""

    def __init__(self) -> None:
        self._keys: dict[T, float] = {}
        self._heap: list[tuple[float, int, T]] = []
        self._numbers = count()

    def put(self, item: T, key: float) -> None:
        """Give `item` a number (inf: none)."""
        if self._keys.get(item, math.inf) == key:
            return
        self._keys[item] = key
        if key < math.inf:
            heappush(self._heap, (key, next(self._numbers), item))
        if len(self._heap) > 64 + 4 * len(self._keys):  # mostly numbers that are true no more
            self._heap[:] = [entry for entry in self._heap if self._keys[entry[2]] == entry[0]]
            heapify(self._heap)

    def first(self) -> tuple[float, T | None]:
        """Return the least number, and whose it is (inf, None: there is none)."""
        while self._heap and self._keys[self._heap[0][2]] != self._heap[0][0]:
            heappop(self._heap)
        return (self._heap[0][0], self._heap[0][2]) if self._heap else (math.inf, None)

    def pop(self) -> T:
        """Take the least number away; return whose it was."""
        _, item = self.first()
        assert item is not None
        self.put(item, math.inf)
        return item
