"""Which link a transfer shares, if any: what of the server's and the cells' links is limited."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.sim.networks.links.buffered_link import BufferedLink
from simfl.sim.networks.links.fair_link import FairLink
from simfl.sim.networks.links.fair_tree import FairTree
from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.rate_trace import Factors
from simfl.sim.networks.timed_link import TimedLink
from simfl.sim.timeline import Timeline

MakeLink = Callable[[float], FairLink | BufferedLink | FifoLink]


class Bottlenecks:
    """What is shared in one direction: nothing, one link, a link for each cell, or a tree of them.

    Args:
        timeline: the clock.
        bps: of the server's link, then of each cell's.
        rates: what each of them is multiplied by as time goes by (None: nothing).
        cells: `(n,)` each device's cell, -1: none.
        server: makes the server's link, of so many bit/s, where no cell below it is limited.
        cell: makes a cell's link, where the server's is unlimited.
    """

    def __init__(
        self,
        timeline: Timeline,
        bps: Sequence[float],
        rates: Sequence[Factors | None],
        cells: Ids,
        server: MakeLink,
        cell: MakeLink,
    ) -> None:
        self.steady = not any(rates)
        """Whether none of their capacities varies as time goes by."""
        self._cells = cells
        self._server_bps, *self._cells_bps = bps
        self._server: TimedLink | None = None
        self._own: list[TimedLink | None] = [None] * len(self._cells_bps)
        limited = [math.isfinite(cell_bps) for cell_bps in self._cells_bps]
        if not math.isfinite(self._server_bps):  # then cells have nothing to do with each other
            self._own = [
                TimedLink(timeline, cell(cell_bps), [cell_bps], [factors]) if finite else None
                for cell_bps, factors, finite in zip(
                    self._cells_bps, rates[1:], limited, strict=True
                )
            ]
        elif any(limited):
            self._server = TimedLink(timeline, FairTree(bps[0], bps[1:]), bps, rates)
        else:
            self._server = TimedLink(timeline, server(bps[0]), bps[:1], rates[:1])

    def cell(self, device: int) -> int:
        """Return the cell of `device`, -1 if there is none."""
        return self._cells.item(device) if self._cells_bps else -1

    def of(self, device: int) -> TimedLink | None:
        """Return the link that transfers of `device` share, if any."""
        if self._server is not None or not self._cells_bps:
            return self._server
        cell = self.cell(device)
        return self._own[cell] if cell >= 0 else None

    def bps(self, device: int) -> float:
        """Return the narrowest capacity beside the device's own."""
        cell = self.cell(device)
        return self._server_bps if cell < 0 else min(self._server_bps, self._cells_bps[cell])

    def all_bps(self) -> Floats:
        """Return `(n,)` the same of every device, or `(1,)` where there are no cells."""
        narrowest = np.minimum([*self._cells_bps, math.inf], self._server_bps)
        return narrowest[self._cells] if self._cells_bps else narrowest  # -1: the last
