"""A server's link above cells' links, shared max-min fairly by flows with limits of their own.

Max-min fairness by progressive filling (Bertsekas & Gallager, Data Networks, 2nd ed., section
6.5.2): all rates rise together; a flow stops at its own limit, or when a link that it crosses is
full.  On two floors that comes to water-filling twice: a cell whose link can't bear the server's
level goes by a lower one of its own, and takes its capacity of the server's; in all other cells
flows go by the server's level.

What all flows take together is a concave function of the server's level: each flow, and each cell,
adds the less of two straight lines.  Whichever of the two are assumed, the level that follows is
too low or right; so to correct one wrong choice after the other only raises it, until it is right.

An event costs O(log n), and as much again for each group and cell that a level crosses.  Cells are
`FairLink`s; those that go by the server's level share its virtual clock, and nothing is updated in
them when it changes.  No SimPy here: time is an argument.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any

from typing_extensions import override

from simfl.sim.networks.links.fair_link import FairLink, Flow, bit_rate, in_units
from simfl.sim.networks.links.keyed_heap import KeyedHeap


class FairTree:
    """Links of `capacity` bit/s and, below it, `cells`.  Instants must not decrease.

    Args:
        capacity: of the server's link.
        cells: of each cell's link (inf: unlimited).

    Attributes:
        now: the last instant.
        virtual: bits that a flow at the server's level has moved, since there last was none.
    """

    def __init__(self, capacity: float, cells: Sequence[float]) -> None:
        self._units = in_units(capacity)
        self._taken: float = 0  # whole units that full cells take, and flows below the level
        self._sharing = 0  # flows at that level
        self._level = math.inf
        self.now = self.virtual = 0.0
        numbers = count(1)
        self._cells = [_Cell(self, bps, numbers) for bps in (*cells, math.inf)]
        # Of each kind the first cell to be wrong; the next to end, in time and on the clock.
        self._suspects = tuple(KeyedHeap[_Cell]() for _ in range(4))
        self._ends, self._shared_ends = KeyedHeap[_Cell](), KeyedHeap[_Cell]()

    def __len__(self) -> int:
        return sum(len(cell) for cell in self._cells)

    def join(
        self, now: float, bits: float, limit: float, owner: Any = None, cell: int = -1
    ) -> Flow:
        """Let a flow of `bits` start now, in a cell or (-1) beside them all."""
        self._advance(now)
        flow = self._cells[cell].join(now, bits, limit, owner)
        self._balance()
        return flow

    def leave(self, now: float, flow: Flow) -> float:
        """Take `flow` off its links before its end; return the bits it moved."""
        assert flow.group is not None
        self._advance(now)
        moved = flow.group.link.leave(now, flow)
        self._balance()
        return moved

    def resize(self, now: float, capacity: float, *cells: float) -> None:
        """Give the links other capacities from now on; arguments as of the class."""
        self._advance(now)
        self._units = in_units(capacity)
        for cell, bps in zip(self._cells, (*cells, math.inf), strict=True):
            cell.resize(now, bps)
        self._balance()

    def next_end(self) -> float:
        """Return the instant at which the next flow ends, if none starts or leaves (inf: none)."""
        return min(self._ends.first()[0], self.instant(self._shared_ends.first()[0]))

    def finish(self, now: float) -> list[Flow]:
        """Take the flows that end by `now`, no later than `next_end`, off; return them by start."""
        done: dict[_Cell, list[Flow]] = {}
        while self.next_end() <= now:
            queue = self._ends if self._ends.first()[0] <= now else self._shared_ends
            cell = queue.pop()
            done[cell] = done.get(cell, []) + cell.take(now)
        self._advance(now)
        for cell in done:
            cell.settle(now)
        self._balance()
        return sorted(chain.from_iterable(done.values()), key=lambda flow: flow.number)

    def rates(self) -> list[tuple[int, float, float]]:
        """Return the cell, the limit and the rate of each flow."""
        return [
            (where, limit, min(rate, math.inf if cell.full else self._level))
            for where, cell in zip((*range(len(self._cells) - 1), -1), self._cells, strict=True)
            for limit, (flows, rate) in cell.rates().items()
            for _ in range(flows)
        ]

    def instant(self, virtual: float) -> float:
        """Return when the virtual clock will show `virtual`, no earlier than now."""
        if virtual == math.inf:
            return math.inf
        return max(self.now, self.now + (virtual - self.virtual) / self._level)

    def book(self, cell: "_Cell", before: tuple[float, int]) -> None:
        """Take note of what `cell` takes, instead of what it took `before`, and when it ends."""
        self._taken += cell.taken[0] - before[0]
        self._sharing += cell.taken[1] - before[1]
        for queue, key in zip(self._suspects, cell.limits(), strict=True):
            queue.put(cell, key)
        end, shared_end = cell.ends()
        self._ends.put(cell, end)
        self._shared_ends.put(cell, shared_end)

    def _advance(self, now: float) -> None:
        if self._sharing:
            self.virtual += self._level * (now - self.now)
        else:
            self.virtual = 0.0
        self.now = now

    def _balance(self) -> None:
        """Correct one choice after the other until none is wrong."""
        while any(self._adapt(queue) for queue in self._suspects):
            pass
        self._level = bit_rate(self._units - self._taken, self._sharing)

    def _adapt(self, queue: "KeyedHeap[_Cell]") -> bool:
        _, cell = queue.first()
        return cell is not None and cell.adapt(self._units - self._taken, self._sharing)


class _Cell(FairLink):
    """A cell's link; as long as it is not full its flows go by the server's level.

    Attributes:
        full: whether it goes by a level of its own.
        taken: what it takes of the server's link: units, and flows at the server's level.
    """

    def __init__(self, tree: FairTree, capacity: float, numbers: Iterator[int]) -> None:
        super().__init__(capacity, numbers)
        self._tree = tree
        self._seen = 0.0  # what the server's virtual clock showed when last looked at
        self.full = False
        self.taken: tuple[float, int] = (0, 0)

    def limits(self) -> tuple[float, float, float, float]:
        """Return by what to rank it among those that may be wrong, four times (inf: it is not).

        The lowest limit at the server's level, the highest below it, the level at which it would be
        full, and that at which it would not be; high ones below zero.
        """
        spare = self._units - self._limited
        if self.full:
            return math.inf, math.inf, math.inf, -spare / self._sharing
        at, below = self._top(True), self._top(False)
        return (
            math.inf if at is None else at.units,
            math.inf if below is None else -below.units,
            spare / self._sharing if self._sharing else math.copysign(math.inf, spare),
            math.inf,
        )

    def ends(self) -> tuple[float, float]:
        """Return when the next of its flows ends, and when on the server's virtual clock."""
        if self.full:
            return self.next_end(), math.inf
        return self._next(False), self._first_end(True) - self._virtual + self._seen

    def adapt(self, spare: float, sharing: int) -> bool:
        """Correct what is wrong at the server's level ``spare / sharing``; return whether it was.

        At most one group changes sides, or the cell itself.
        """
        group = None if self.full else self._misplaced(spare, sharing)
        if group is None and not self._is_wrong(spare, sharing):
            return False
        self._advance(self._tree.now)
        if group is None:
            self.full = not self.full
        else:
            self._move(group)
        self._level()
        return True

    def _is_wrong(self, spare: float, sharing: int) -> bool:
        """Return whether it is full though it has room at that level, or the other way round."""
        own = self._units - self._limited
        if self.full:
            return own * sharing > spare * self._sharing if sharing else spare < 0
        return own * sharing < spare * self._sharing if self._sharing else own < 0

    @override
    def _advance(self, now: float) -> None:
        if self.full:
            super()._advance(now)
        else:
            self._virtual += self._tree.virtual - self._seen
            self.now = now
        self._seen = self._tree.virtual

    @override
    def _next(self, fair: bool) -> float:
        if self.full or not fair:
            return super()._next(fair)
        return self._tree.instant(self.ends()[1])

    @override
    def _level(self) -> None:
        before = self.taken
        if self.full:
            super()._level()
            self.full = self._sharing > 0
        else:
            self.level = math.inf
            if not self._groups:
                self._clear()
        self.taken = (self._units, 0) if self.full else (self._limited, self._sharing)
        self._tree.book(self, before)
