"""Every device has links of its own; cells' links and the server's are shared max-min fairly."""

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Ids
from simfl.core.units import DataSize, Duration, LinkRate, Ratio
from simfl.sim.networks.base import Direction, Links, Network, networks
from simfl.sim.networks.bottlenecks import Bottlenecks, MakeLink
from simfl.sim.networks.links.buffered_link import BufferedLink
from simfl.sim.networks.links.fair_link import FairLink
from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.links.sender_link import SenderLink
from simfl.sim.networks.polling import PolledLinks
from simfl.sim.networks.rate_trace import RateTrace
from simfl.sim.networks.shared_links import SharedLinks
from simfl.sim.occasions import Jitter
from simfl.sim.timeline import Timeline


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


@networks.register("shared")
class Shared(Network):
    """Flow-level transfers: latency first, then bytes at a fair share of the links on the way.

    Rates change only when a transfer starts, ends or is aborted, and when a trace says so; between
    two such instants they are constant.  Deadlines are planned with nominal rates.  Where no link
    is shared a transfer takes ``latency + 8 * (bytes * (1 + overhead) + message_overhead) / rate``,
    and with an `initial_window` what TCP's slow start waits besides, and with a `queue_limit` what
    its losses cost; that is waited before the first byte, for as long as it takes at the device's
    own rate.
    A device has at most one transfer under way in each direction.

    Where a link's `queue` is `fifo`, what is shared is no rate but a queue: see the field.

    Cost: O(log n) host time an event, n the transfers under way over the links that are shared;
    O(n log n) with a `buffer`; a thousand steps and more a transfer with `queue: fifo`.
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
        "period: start again after this duration}; omitted: not at all",
    )
    queue: Literal["fair", "fifo"] = Field(
        "fair",
        description="how shared links serve transfers: `fair`, all equally (max-min); `fifo`, "
        "first come, first served, as in a plain queue that loses nothing, so a "
        "transfer with more under way gets more: all of it, or what TCP's windows "
        "allow (`initial_window` at first, for uploads `buffer` at most, over the "
        "server's own uplink no more than its kernel allows)",
    )
    overhead: Ratio = Field(
        0.0,
        ge=0,
        description="what protocols add to every byte, such as 4.6% for TCP over Ethernet: it "
        "takes time on every link but an edge server's backhaul (policy hierarchical), whose rates "
        "are without it, and is not counted in bytes moved",
    )
    message_overhead: DataSize = Field(
        0.0,
        ge=0,
        description="what protocols add to every message, in each direction, such as 300 B for "
        "gRPC: likewise",
    )
    buffer: DataSize = Field(
        0.0,
        ge=0,
        description="how much of each upload can wait before its shared link, after the device's "
        "own, such as 20.8 kB (a socket's send buffer of 32 KiB), without `overhead`; with `queue: "
        "fifo` it is filled again once a third of it is free; 0: nothing",
    )
    initial_window: DataSize = Field(
        0.0,
        ge=0,
        description="what TCP sends before it waits for an answer, which takes twice the "
        "`latency`, and twice as much after each, such as 14480 B (10 packets); 0: no slow start",
    )
    queue_limit: DataSize | None = Field(
        None,
        gt=0,
        description="what can wait in a router before each device's own downlink, such as 100 kB: "
        "where slow start sends more, packets are lost, and TCP halves its window, takes its time "
        "to fill the link again, and begins the next download with that in mind (Reno); needs an "
        "`initial_window`; omitted: nothing is lost",
    )
    polling: Duration = Field(
        0.0,
        ge=0,
        description="how often devices ask for work, and the server for updates, such as 3 s for "
        "Flower; 0: no polling, messages are sent at once",
    )

    @property
    @override
    def cell_names(self) -> tuple[str, ...]:
        return tuple(self.cells)

    @property
    @override
    def reads_files(self) -> bool:
        return bool(self._traces)

    @property
    def _traces(self) -> list[RateTrace]:
        traces = [self.rates, *(cell.rates for cell in self.cells.values())]
        return [trace for trace in traces if trace is not None]

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.folder is not None:
            for trace in self._traces:
                trace.read(circumstances.folder)
        option = "`buffer`" if self.queue == "fair" else "`queue: fifo`"
        up = any(cell.uplink < math.inf for cell in self.cells.values())
        down = any(cell.downlink < math.inf for cell in self.cells.values())
        if (self.buffer or self.queue == "fifo") and up and self.server_downlink < math.inf:
            yield _two_links(option, "uploads", "`uplink` or `server_downlink`")
        if self.queue == "fifo" and down and self.server_uplink < math.inf:
            yield _two_links(option, "downloads", "`downlink` or `server_uplink`")
        if self.queue_limit is not None:
            if not self.initial_window:
                yield "network 'shared': `queue_limit` needs an `initial_window`, such as 14480 B"
            if self.queue == "fifo" and (down or self.server_uplink < math.inf):
                yield (
                    "network 'shared' can't have `queue_limit` where downloads share a link with "
                    "`queue: fifo`, which loses nothing"
                )

    @override
    def bind(
        self,
        timeline: Timeline,
        downlink_bps: Floats,
        uplink_bps: Floats,
        latency_s: Floats,
        *,
        cells: Ids | None = None,
        variation: Jitter | None = None,
        folder: Path | None = None,
    ) -> Links:
        if cells is None:
            cells = np.zeros(0, dtype=np.int64)  # never looked at
        within = list(self.cells.values()) if (cells >= 0).any() else []
        rates = [
            None if trace is None else trace.read(folder or Path())
            for trace in [self.rates, *(cell.rates for cell in within)]
        ]
        gross = 1 + self.overhead  # bytes on the wire for each byte of a model
        down = [bps / gross for bps in (self.server_uplink, *(cell.downlink for cell in within))]
        up = [bps / gross for bps in (self.server_downlink, *(cell.uplink for cell in within))]
        own: dict[Direction, Floats] = {"down": downlink_bps, "up": uplink_bps}
        links = SharedLinks(
            timeline,
            own if gross == 1 else {way: bps / gross for way, bps in own.items()},
            latency_s,
            {
                "down": Bottlenecks(
                    timeline, down, rates, cells, self._sending(), self._link("down")
                ),
                "up": Bottlenecks(timeline, up, rates, cells, self._link("up"), self._link("up")),
            },
            variation,
            self.initial_window,
            None if self.queue_limit is None else self.queue_limit / gross,
            self.message_overhead / gross,
        )
        if self.polling:
            return PolledLinks(timeline, links, self.polling, latency_s)
        return links

    def _sending(self) -> MakeLink:
        """Return what makes the link that the server itself sends over."""
        if self.queue == "fifo" and self.initial_window:
            return partial(SenderLink, window=8 * self.initial_window)
        return self._link("down")

    def _link(self, way: Direction) -> MakeLink:
        """Return what makes a link that transfers share."""
        buffer, window = 8 * self.buffer, 8 * self.initial_window
        if self.queue == "fair":
            return partial(BufferedLink, buffer=buffer) if buffer and way == "up" else FairLink
        if way == "down":
            return partial(FifoLink, window=window, buffer=0.0, own_first=False)
        return partial(FifoLink, window=window, buffer=buffer, own_first=True)


def _two_links(option: str, what: str, either: str) -> str:
    return (
        f"network 'shared' can't have {option} where {what} share two links one after the other: "
        f"set a cell's {either}, not both"
    )
