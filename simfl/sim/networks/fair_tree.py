"""A server's link above cells' links, shared max-min fairly by flows with limits of their own.

Max-min fairness by progressive filling (Bertsekas & Gallager, Data Networks, 2nd ed., section
6.5.2): all rates rise together; a flow stops at its own limit, or when a link that it crosses is
full.  On two floors that comes to water-filling twice.  While the server's link has room, a cell
knows nothing of the others: its link is full at the *level* that water-filling of the cell alone
gives.  So a flow is held back by ``min(its limit, its cell's level)``, and the server's link is
water-filled by flows with those limits.

An event costs O(n) array operations, n the flows under way, for the server's link ties all of them
together; where it is unlimited, use a `FairLink` for each cell instead.  A flow whose rate an event
leaves alone is not touched, so that its end stays what it was to the last bit.  No SimPy here: time
is an argument.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from simfl.core.types import Floats


def level(capacity: float, limits: Floats) -> float:
    """Return what water-filling gives flows whose own limit is not lower.

    That is ``(capacity - the k lowest limits) / (n - k)``, with k the number of flows below it.
    It grows with k up to the right k and falls from there.  Where the link has room for all, the
    level is no lower than any limit.

    Args:
        capacity: of the link.
        limits: `(n,)` of the flows, n > 0; inf: none.
    """
    ordered = np.sort(limits)
    lower = np.concatenate(([0.0], np.cumsum(ordered[:-1])))
    return float(((capacity - lower) / np.arange(len(limits), 0, -1)).max())


class TreeFlow:
    """A transfer under way; `owner` is whatever the caller wants back when it ends."""

    __slots__ = ("bits", "number", "owner", "slot")

    def __init__(self, slot: int, bits: float, number: int, owner: Any) -> None:
        self.slot = slot
        self.bits = bits
        self.number = number
        self.owner = owner


class FairTree:
    """Links of `capacity` bit/s and, below it, `cells`.  Instants must not decrease.

    Args:
        capacity: of the server's link.
        cells: of each cell's link (inf: unlimited).
    """

    def __init__(self, capacity: float, cells: Sequence[float]) -> None:
        self.capacity = capacity
        self.cells = list(cells)
        self._flows: list[TreeFlow] = []
        self._number = 0
        self._next_s = math.inf
        self._room(16)

    def __len__(self) -> int:
        return len(self._flows)

    def _room(self, size: int) -> None:
        """Make every column `size` long.  Columns are in the order of `_flows`."""

        def longer(name: str, default: float) -> Any:
            column, old = np.full(size, default), getattr(self, name, None)
            if old is not None:
                column[: len(old)] = old
            return column

        self._cell = longer("_cell", -1).astype(np.int64)
        self._limit: Floats = longer("_limit", 0.0)
        self._held: Floats = longer("_held", 0.0)  # min(limit, level of its cell)
        self._rate: Floats = longer("_rate", 0.0)  # since ...
        self._since: Floats = longer("_since", 0.0)  # ... when it had ...
        self._left: Floats = longer("_left", 0.0)  # ... bits to go
        self._end: Floats = longer("_end", math.inf)

    def join(
        self, now: float, bits: float, limit: float, owner: Any = None, cell: int = -1
    ) -> TreeFlow:
        """Let a flow of `bits` start now, in a cell or (-1) beside them all."""
        slot = len(self._flows)
        if slot == len(self._rate):
            self._room(2 * slot)
        self._number += 1
        flow = TreeFlow(slot, bits, self._number, owner)
        self._flows.append(flow)
        self._cell[slot], self._limit[slot], self._held[slot] = cell, limit, limit
        self._rate[slot], self._since[slot], self._left[slot] = 0.0, now, bits
        self._fill(now, [cell])
        return flow

    def leave(self, now: float, flow: TreeFlow) -> float:
        """Take `flow` off its links before its end; return the bits it moved."""
        slot = flow.slot
        left = self._left[slot] - self._rate[slot] * (now - self._since[slot])
        self._fill(now, [self._remove(flow)])
        return float(min(max(flow.bits - left, 0.0), flow.bits))

    def resize(self, now: float, capacity: float, *cells: float) -> None:
        """Give the links other capacities from now on; arguments as of the class."""
        self.capacity, self.cells = capacity, list(cells)
        self._fill(now, range(len(cells)))

    def next_end(self) -> float:
        """Return the instant at which the next flow ends, if none starts or leaves (inf: none)."""
        return self._next_s

    def finish(self, now: float) -> list[TreeFlow]:
        """Take the flows that end by `now`, no later than `next_end`, off; return them by start."""
        ended = np.flatnonzero(self._end[: len(self)] <= now)
        done = sorted((self._flows[slot] for slot in ended), key=lambda flow: flow.number)
        if done:
            self._fill(now, {self._remove(flow) for flow in done})
        return done

    def rates(self) -> list[tuple[int, float, float]]:
        """Return the cell, the limit and the rate of each flow."""
        columns = (self._cell, self._limit, self._rate)
        return list(zip(*(column[: len(self)].tolist() for column in columns), strict=True))

    def _remove(self, flow: TreeFlow) -> int:
        """Put the last flow in the place of `flow`; return its cell."""
        cell, slot, last = int(self._cell[flow.slot]), flow.slot, self._flows.pop()
        if last is not flow:
            for column in (self._limit, self._held, self._rate, self._since, self._left, self._end):
                column[slot] = column[last.slot]
            self._cell[slot] = self._cell[last.slot]
            self._flows[slot], last.slot = last, slot
        return cell

    def _fill(self, now: float, cells: Iterable[int]) -> None:
        """Find the rates, now that flows have come to or gone from `cells`."""
        n = len(self)
        if not n:
            self._next_s = math.inf
            return
        for cell in cells:
            if cell >= 0 and math.isfinite(self.cells[cell]):
                mine = np.flatnonzero(self._cell[:n] == cell)
                if len(mine):
                    limits = self._limit[mine]
                    self._held[mine] = np.minimum(limits, level(self.cells[cell], limits))
        rates = np.minimum(self._held[:n], level(self.capacity, self._held[:n]))
        old = self._rate[:n]
        new = np.flatnonzero(rates != old)
        left = np.maximum(self._left[new] - old[new] * (now - self._since[new]), 0.0)
        self._left[new], self._since[new] = left, now
        self._rate[new] = rates[new]
        self._end[new] = now + left / rates[new]
        self._next_s = float(self._end[:n].min())
