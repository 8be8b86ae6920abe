"""A link that transfers share, with the timeline: it wakes when a transfer ends."""

import math
from collections.abc import Sequence
from typing import Any

import simpy

from simfl.sim.networks.base import Transfer
from simfl.sim.networks.links.buffered_link import BufferedLink
from simfl.sim.networks.links.fair_link import FairLink
from simfl.sim.networks.links.fair_tree import FairTree
from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.rate_trace import Factors
from simfl.sim.timeline import Timeline


class TimedLink:
    """A link or a tree of links on the timeline.

    Args:
        timeline: the clock.
        link: what is shared.
        bps: its capacities, as its `resize` takes them.
        rates: what each of them is multiplied by as time goes by.

    Attributes:
        has_latency: whether bytes are on their way for a while after the link, too, so that nobody
            has to wait before they begin to move.
    """

    def __init__(
        self,
        timeline: Timeline,
        link: FairLink | BufferedLink | FifoLink | FairTree,
        bps: Sequence[float],
        rates: Sequence[Factors | None],
    ) -> None:
        self._link: Any = link
        self._bps, self._rates = bps, rates
        self._followed = not any(rates)
        self._where = isinstance(link, FairTree)
        self.has_latency = isinstance(link, FifoLink)
        self._timeline = timeline
        self._armed_s = math.inf

    def join(
        self, bits: float, limit: float, transfer: Transfer, cell: int, latency_s: float
    ) -> Any:
        """Let `transfer` move so many bits at `limit` bit/s or less; it succeeds when they have.

        Args:
            bits: of the transfer.
            limit: of its device's own link, bit/s.
            transfer: whose.
            cell: of the device, looked at in a tree.
            latency_s: of the device, one way; looked at where the link `has_latency`.

        Returns:
            What `leave` takes.
        """
        if not self._followed:
            self._follow()
        now = self._timeline.now
        if self._where:
            flow = self._link.join(now, bits, limit, transfer, cell)
        elif self.has_latency:
            flow = self._link.join(now, bits, limit, transfer, latency_s)
        else:
            flow = self._link.join(now, bits, limit, transfer)
        self._arm()
        return flow

    def leave(self, flow: Any) -> float:
        """Take a flow off before its end; return the bits it moved."""
        moved: float = self._link.leave(self._timeline.now, flow)
        self._arm()
        return moved

    def _arm(self) -> None:
        """Wake at the next end.  A wake-up that comes too early just looks again."""
        self._arm_at(self._link.next_end())

    def _arm_at(self, end_s: float) -> None:
        if end_s < self._armed_s:
            self._armed_s = end_s
            self._timeline.at(end_s).callbacks.append(self._wake)

    def _wake(self, _: simpy.Event) -> None:
        if self._timeline.now < self._armed_s:  # left over from before an earlier end came up
            return
        self._armed_s = math.inf
        flows = self._link.finish(self._timeline.now)
        end_s = self._link.next_end()
        if len(flows) == 1 and end_s > self._timeline.now:  # as mostly: nothing else ends now
            self._arm_at(end_s)  # first, for what follows may join the link again
            flows[0].owner.arrive(last=True)
        else:
            self._tell(flows)
            self._arm_at(end_s)

    @staticmethod
    def _tell(flows: Sequence[Any]) -> None:
        for flow in flows:
            flow.owner.arrive(last=False)

    def _follow(self) -> None:
        """Give the link the capacities of now, and again at the next change."""
        now = self._timeline.now
        pairs = list(zip(self._bps, self._rates, strict=True))
        self._link.resize(now, *(bps * (rate.at(now) if rate else 1.0) for bps, rate in pairs))
        change_s = min(rate.next_change_s(now) for rate in self._rates if rate)
        self._followed = True
        if change_s < math.inf:
            self._timeline.at(change_s).callbacks.append(self._change)

    def _change(self, _: simpy.Event) -> None:
        self._tell(self._link.finish(self._timeline.now))  # what ends at this very instant has
        if len(self._link):
            self._follow()
        else:  # nobody needs to know until somebody comes
            self._followed = False
        self._arm()
