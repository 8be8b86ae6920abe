"""Every device has links of its own; cells' links and the server's are shared max-min fairly."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from simfl.sim.networks.base import Direction, Links, Network, Transfer, Variation, networks
from simfl.sim.networks.fair_link import FairLink
from simfl.sim.networks.fair_tree import FairTree
from simfl.sim.networks.rate_trace import Factors, RateTrace
from simfl.sim.timeline import Timeline
from simfl.units import LinkRate
from simfl.work import Ids


class Cell(BaseModel):
    """A cell or access point: one link each way, shared by all devices of the groups in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    downlink: LinkRate = Field(
        math.inf, description="towards the devices, shared by their downloads (default: unlimited)"
    )
    uplink: LinkRate = Field(
        math.inf, description="towards the server, shared by their uploads (default: unlimited)"
    )
    rates: RateTrace | None = Field(
        None, description="how both vary over time: {file, period}; omitted: not at all"
    )


def _rates(cell: Cell) -> RateTrace | None:
    return cell.rates


@networks.register("shared")
class Shared(Network):
    """Flow-level transfers: latency first, then bytes at a fair share of the links on the way.

    Rates change only when a transfer starts, ends or is aborted, and when a trace says so; between
    two such instants they are constant.  Deadlines are planned with nominal rates.  Where no link
    is shared a transfer takes ``latency + 8 * bytes / rate``.
    A device has at most one transfer under way in each direction.

    Cost: O(log n) host time an event, n the transfers under way over the link (the server's or a
    cell's); O(n) array operations where the server's and cells' links limit the same direction.
    """

    server_downlink: LinkRate = Field(
        math.inf, description="the server's downlink, shared by all uploads (default: unlimited)"
    )
    server_uplink: LinkRate = Field(
        math.inf, description="the server's uplink, shared by all downloads (default: unlimited)"
    )
    cells: dict[str, Cell] = Field(
        default_factory=dict,
        description="cells or access points: a name, as `cell` of fleet groups -> downlink, uplink "
        "and rates",
    )
    rates: RateTrace | None = Field(
        None,
        description="how the server's two links vary over time: {file: a CSV with time_s, factor; "
        "period: start again after so long}; omitted: not at all",
    )

    @property
    def cell_names(self) -> tuple[str, ...]:
        """See `Network.cell_names`."""
        return tuple(self.cells)

    @property
    def reads_files(self) -> bool:
        """See `Network.reads_files`."""
        return any(rates is not None for rates in [self.rates, *map(_rates, self.cells.values())])

    def bind(
        self,
        timeline: Timeline,
        downlink_bps: NDArray[np.float64],
        uplink_bps: NDArray[np.float64],
        latency_s: NDArray[np.float64],
        *,
        cells: Ids | None = None,
        variation: Variation | None = None,
        folder: Path | None = None,
    ) -> Links:
        """See `Network.bind`."""
        if cells is None:
            cells = np.zeros(0, dtype=np.int64)  # never looked at
        within = list(self.cells.values()) if (cells >= 0).any() else []
        rates = [
            None if trace is None else trace.read(folder or Path())
            for trace in [self.rates, *map(_rates, within)]
        ]
        down = [self.server_uplink, *(cell.downlink for cell in within)]
        up = [self.server_downlink, *(cell.uplink for cell in within)]
        return _SharedLinks(
            timeline,
            {"down": downlink_bps, "up": uplink_bps},
            latency_s,
            {
                "down": _Lines(timeline, down, rates, cells),
                "up": _Lines(timeline, up, rates, cells),
            },
            variation,
        )


class _SharedLinks(Links):
    def __init__(
        self,
        timeline: Timeline,
        device_bps: dict[Direction, NDArray[np.float64]],
        latency_s: NDArray[np.float64],
        lines: dict[Direction, "_Lines"],
        variation: Variation | None,
    ) -> None:
        self._timeline = timeline
        self._device_bps = device_bps
        self._latency_s = latency_s
        self._lines = lines
        self._variation = variation

    @property
    def lone(self) -> bool:
        return not any(lines.any for lines in self._lines.values())

    def _varies(self, device: int) -> bool:
        return self._variation is not None and self._variation.varies(device)

    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        if self._lines[direction].of(device) is not None or self._varies(device):
            return None
        return float(self._latency_s[device] + 8 * size / self._device_bps[direction][device])

    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        bps = min(self._device_bps[direction][device], self._lines[direction].bps(device))
        return float(self._latency_s[device] + 8 * size / bps)

    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        latency = float(self._latency_s[device])
        bps = float(self._device_bps[direction][device])
        if self._variation is not None:
            bps *= self._variation.factor(device, direction)
        line = self._lines[direction].of(device)
        if line is not None and size > 0:
            cell = self._lines[direction].cell(device)
            return _SharedTransfer(self._timeline, line, cell, size, latency, bps)
        return _LoneTransfer(self._timeline, size, latency, bps)


class _LoneTransfer(Transfer):
    """Bytes that meet nobody else's: known from the start when they will have arrived."""

    def __init__(self, timeline: Timeline, size: int, latency_s: float, bps: float) -> None:
        super().__init__(timeline)
        self._size, self._bps = size, bps
        self._first_byte_s = timeline.now + latency_s
        self._aborted = False
        end = timeline.at(timeline.now + (latency_s + 8 * size / bps))
        end.callbacks.append(self._arrive)

    def _arrive(self, _: simpy.Event) -> None:
        if not self._aborted:
            self.succeed()

    def abort(self) -> int:
        """See `Transfer.abort`."""
        if self.triggered:
            return self._size
        self._aborted = True
        moving_s = self.env.now - self._first_byte_s
        if moving_s <= 0:
            return 0
        return int(min(moving_s * self._bps / 8 + _ROUNDING, self._size))


class _SharedTransfer(Transfer):
    """Bytes that share a line."""

    def __init__(
        self,
        timeline: Timeline,
        line: "_Line",
        cell: int,
        size: int,
        latency_s: float,
        bps: float,
    ) -> None:
        super().__init__(timeline)
        self._line, self._cell, self._size, self._bps = line, cell, size, bps
        self._flow: Any = None
        self._aborted = False
        if latency_s > 0:
            timeline.at(timeline.now + latency_s).callbacks.append(self._begin)
        else:
            self._begin()

    def _begin(self, _: simpy.Event | None = None) -> None:
        if not self._aborted:
            self._flow = self._line.join(8.0 * self._size, self._bps, self, self._cell)

    def abort(self) -> int:
        """See `Transfer.abort`."""
        if self.triggered:
            return self._size
        if self._aborted or self._flow is None:
            self._aborted = True
            return 0
        self._aborted = True
        return int(min(self._line.leave(self._flow) / 8 + _ROUNDING, self._size))


_ROUNDING = 1e-6
"""Of a byte: what floating point may fall short of a whole byte that has moved."""


class _Lines:
    """What is shared in one direction: nothing, one link, a link for each cell, or a tree of them.

    Args:
        timeline: the clock.
        bps: of the server's link, then of each cell's.
        rates: what each of them is multiplied by as time goes by (None: nothing).
        cells: `(n,)` each device's cell, -1: none.
    """

    def __init__(
        self,
        timeline: Timeline,
        bps: Sequence[float],
        rates: Sequence[Factors | None],
        cells: Ids,
    ) -> None:
        self._cells = cells
        self._server_bps, *self._cells_bps = bps
        self._server: _Line | None = None
        self._own: list[_Line | None] = [None] * len(self._cells_bps)
        limited = [math.isfinite(each) for each in self._cells_bps]
        if not math.isfinite(self._server_bps):  # then cells have nothing to do with each other
            self._own = [
                _Line(timeline, FairLink(each), [each], [factors]) if finite else None
                for each, factors, finite in zip(self._cells_bps, rates[1:], limited, strict=True)
            ]
        elif any(limited):
            self._server = _Line(timeline, FairTree(bps[0], bps[1:]), bps, rates)
        else:
            self._server = _Line(timeline, FairLink(bps[0]), bps[:1], rates[:1])
        self.any = self._server is not None or any(limited)

    def cell(self, device: int) -> int:
        """Return the cell of `device`, -1 if there is none."""
        return int(self._cells[device]) if self._cells_bps else -1

    def of(self, device: int) -> "_Line | None":
        """Return the line that transfers of `device` share, if any."""
        if self._server is not None or not self._cells_bps:
            return self._server
        cell = self.cell(device)
        return self._own[cell] if cell >= 0 else None

    def bps(self, device: int) -> float:
        """Return the narrowest capacity beside the device's own."""
        cell = self.cell(device)
        return self._server_bps if cell < 0 else min(self._server_bps, self._cells_bps[cell])


class _Line:
    """A `FairLink` or a `FairTree` on the timeline.

    Args:
        timeline: the clock.
        link: what is shared.
        bps: its capacities, as its `resize` takes them.
        rates: what each of them is multiplied by as time goes by.
    """

    def __init__(
        self,
        timeline: Timeline,
        link: FairLink | FairTree,
        bps: Sequence[float],
        rates: Sequence[Factors | None],
    ) -> None:
        self.link: Any = link
        self._bps, self._rates = bps, rates
        self._followed = not any(rates)
        self._where = isinstance(link, FairTree)
        self._timeline = timeline
        self._armed_s = math.inf

    def join(self, bits: float, limit: float, transfer: Transfer, cell: int) -> Any:
        if not self._followed:
            self._follow()
        where = (cell,) if self._where else ()
        flow = self.link.join(self._timeline.now, bits, limit, transfer, *where)
        self._arm()
        return flow

    def leave(self, flow: Any) -> float:
        moved: float = self.link.leave(self._timeline.now, flow)
        self._arm()
        return moved

    def _arm(self) -> None:
        """Wake at the next end.  A wake-up that comes too early just looks again."""
        end_s = self.link.next_end()
        if end_s < self._armed_s:
            self._armed_s = end_s
            self._timeline.at(end_s).callbacks.append(self._wake)

    def _wake(self, _: simpy.Event) -> None:
        if self._timeline.now < self._armed_s:  # left over from before an earlier end came up
            return
        self._armed_s = math.inf
        self._finish()
        self._arm()

    def _finish(self) -> None:
        for flow in self.link.finish(self._timeline.now):
            flow.owner.succeed()

    def _follow(self) -> None:
        """Give the link the capacities of now, and again at the next change."""
        now = self._timeline.now
        pairs = list(zip(self._bps, self._rates, strict=True))
        self.link.resize(now, *(bps * (rate.at(now) if rate else 1.0) for bps, rate in pairs))
        change_s = min(rate.next_change_s(now) for rate in self._rates if rate)
        self._followed = True
        if change_s < math.inf:
            self._timeline.at(change_s).callbacks.append(self._change)

    def _change(self, _: simpy.Event) -> None:
        self._finish()  # what ends at this very instant has ended
        if len(self.link):
            self._follow()
        else:  # nobody needs to know until somebody comes
            self._followed = False
        self._arm()
