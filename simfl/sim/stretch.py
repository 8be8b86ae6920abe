"""Waits of a device, one after the other, which its leaving or an empty battery cuts short."""

import simpy

from simfl.sim.errand import Errand, Phase
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Transfer
from simfl.sim.timeline import Timeline
from simfl.sim.transfer_wait import TransferWait


class Stretch:
    """Consecutive waits of one device, cut short when it goes offline.

    Fixed durations are summed from the start of the stretch and placed at absolute instants, so the
    last of them ends at exactly the start plus their sum, however many events lie between.  What
    ends at the very instant the device leaves has ended.

    Attributes:
        leaves_s: when the device next goes offline.
    """

    __slots__ = (
        "_batteries", "_device", "_elapsed_s", "_errand", "_fleet", "_group", "_index",
        "_origin_s", "_timeline", "_transfers", "leaves_s",
    )  # fmt: skip

    def __init__(self, timeline: Timeline, fleet: Fleet, errand: Errand) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self._errand = errand
        self._device = errand.device
        self._group = group = errand.group
        self._batteries = group.batteries
        self._index = errand.device - group.first
        self._transfers: TransferWait | None = None  # most links need none
        self._restart()

    def _restart(self) -> None:
        self._forget()
        self._origin_s = self._timeline.now
        self._elapsed_s = 0.0
        self.leaves_s = self._group.schedule.next_change_s(self._index, self._origin_s)

    def draw(self, phase: Phase | None) -> None:
        """Let the battery feed a phase of work from now on (None: no work)."""
        if self._batteries is not None:
            watts = None if phase is None else getattr(self._group.power, phase)
            self._batteries.draw(self._index, self._timeline.now, watts)

    def leaves_by(self, horizon_s: float) -> float:
        """Return when the device leaves or its battery is empty, if not after `horizon_s`."""
        batteries = self._batteries
        if batteries is None:
            return self.leaves_s
        horizon_s = min(horizon_s, self.leaves_s)
        empty_s = batteries.empties_s(self._index, self._timeline.now, horizon_s)
        return min(self.leaves_s, empty_s)

    def stayed_until(self) -> float:
        """Return until when, at most now, the device was online and its battery not empty."""
        until_s = min(self._timeline.now, self.leaves_s)
        batteries = self._batteries
        if batteries is None:
            return until_s
        return min(until_s, batteries.emptied_s(self._index, self._timeline.now))

    def lasting(self, duration_s: float) -> tuple[simpy.Event, bool]:
        """Return what to wait for, and whether the device stays to the end."""
        self._elapsed_s += duration_s
        end_s = self._origin_s + self._elapsed_s
        leaves_s = self.leaves_by(end_s)
        if end_s <= leaves_s:
            return self._timeline.at(end_s), True
        return self._timeline.deadline(leaves_s), False

    def begin(self, transfer: Transfer, phase: Phase) -> None:
        """Watch over `transfer`, which is to be waited for, until `moved`."""
        if self._transfers is None:
            self._transfers = TransferWait(self._timeline, self._batteries is None, self)
        self._transfers.begin(transfer, phase)

    def land(self) -> None:
        """Take note that all bytes have left the device, which has no more part in the transfer."""
        self._errand.landed_s = self._timeline.now
        self._errand.sent(self.leaves_s)

    def moved(self) -> int | None:
        """Return None if the transfer has ended by itself, or what had moved when the device left.

        It need not have ended: nobody waits for it any more.
        """
        assert self._transfers is not None
        self._elapsed_s = self._timeline.now - self._origin_s
        return self._transfers.end()

    def waited(self) -> tuple[float, float]:
        """Return how long the last transfer that waits has moved, and how long it idled here."""
        assert self._transfers is not None
        return self._transfers.spent()

    def end(self) -> None:
        """Let the battery rest, and watch for nothing any more."""
        self.draw(None)
        self._forget()
        self._transfers = None  # it knows this stretch

    def _forget(self) -> None:
        if self._transfers is not None:
            self._transfers.forget()

    def leave(self) -> float:
        """Take note that the device is offline; return when it is online again (inf: never)."""
        self.draw(None)
        self._timeline.note("offline", client=self._device)
        return self._fleet.returns_s(self._device, self._timeline.now)

    def come_back(self) -> None:
        """Take note that the device is online again."""
        self._timeline.note("online", client=self._device)
        self._restart()
