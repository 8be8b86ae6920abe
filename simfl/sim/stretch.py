"""Waits of a device, one after the other, which its leaving or an empty battery cuts short."""

import math
from collections.abc import Generator
from functools import partial
from typing import Any

import simpy

from simfl.sim.errand import Phase
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Transfer
from simfl.sim.timeline import Timeline, Timer

_LOOK_AHEAD_S = 60.0
"""How far ahead an empty battery is looked for at first while a transfer's end is not known; twice
as far each time after that, for a charger may be plugged in and out every second."""


class Left(Exception):
    """The device went offline, and its work with it."""


class Stretch:
    """Consecutive waits of one device, cut short when it goes offline.

    Fixed durations are summed from the start of the stretch and placed at absolute instants, so the
    last of them ends at exactly the start plus their sum, however many events lie between.  What
    ends at the very instant the device leaves has ended.

    Attributes:
        group: of the device.
        leaves_s: when the device next goes offline.
    """

    def __init__(self, timeline: Timeline, fleet: Fleet, device: int) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self._device = device
        self.group = fleet.group(device)
        self._index = device - self.group.first
        self._watch: Timer | None = None
        self._transfer: Transfer | None = None
        self._moved: int | None = None
        self._phase: Phase = "download"
        self._since_s = self._moves_s = self._idles_s = 0.0
        self._restart()

    def _restart(self) -> None:
        self._forget_watch()
        self._origin_s = self._timeline.now
        self._elapsed_s = 0.0
        self.leaves_s = self._fleet.leaves_s(self._device, self._origin_s)

    def draw(self, phase: Phase | None) -> None:
        """Let the battery feed a phase of work from now on (None: no work)."""
        if self.group.batteries is not None:
            watts = None if phase is None else getattr(self.group.power, phase)
            self.group.batteries.draw(self._index, self._timeline.now, watts)

    def _leaves_by(self, horizon_s: float) -> float:
        """Return when the device leaves or its battery is empty, if not after `horizon_s`."""
        batteries = self.group.batteries
        if batteries is None:
            return self.leaves_s
        horizon_s = min(horizon_s, self.leaves_s)
        empty_s = batteries.empties_s(self._index, self._timeline.now, horizon_s)
        return min(self.leaves_s, empty_s)

    def lasting(self, duration_s: float) -> Generator[simpy.Event, Any, bool]:
        """Wait; return whether the device stayed to the end."""
        self._elapsed_s += duration_s
        end_s = self._origin_s + self._elapsed_s
        leaves_s = self._leaves_by(end_s)
        stays = end_s <= leaves_s
        yield self._timeline.at(end_s) if stays else self._timeline.deadline(leaves_s)
        return stays

    def moving(self, transfer: Transfer, phase: Phase) -> Generator[simpy.Event, Any, int | None]:
        """Wait for `transfer`; return None once it ends, or what had moved when the device left."""
        self._transfer, self._moved = transfer, None
        if transfer.waits:
            self._phase, self._since_s = phase, self._timeline.now
            self._moves_s = self._idles_s = 0.0
            self._moves = transfer.moves
            self.draw(phase if self._moves else None)
            transfer.on_move = self._on_move
        self._look_ahead(_LOOK_AHEAD_S)
        try:
            yield transfer
        finally:
            self._transfer = None
        self._elapsed_s = self._timeline.now - self._origin_s
        return self._moved

    def _on_move(self, moves: bool) -> None:
        """Feed a transfer that waits while its bytes move; once they all have, nothing ends it."""
        self._account()
        self._moves = moves
        self.draw(self._phase if moves else None)
        if moves:
            self._look_ahead(_LOOK_AHEAD_S)

    def _account(self) -> None:
        """Add up how long a transfer that waits has moved, and how long it idled here."""
        now_s = self._timeline.now
        if self._moves:
            self._moves_s += now_s - self._since_s
        else:
            until_s = min(now_s, self.leaves_s)
            if self.group.batteries is not None:
                until_s = min(until_s, self.group.batteries.empty_since_s(self._index, now_s))
            self._idles_s += max(until_s - self._since_s, 0.0)
        self._since_s = now_s

    def waited(self) -> tuple[float, float]:
        """Return how long the last transfer that waits has moved, and how long it idled here."""
        self._account()
        return self._moves_s, self._idles_s

    def _look_ahead(self, ahead_s: float) -> None:
        """Have the transfer broken off when the device leaves."""
        on_mains = self.group.batteries is None
        horizon_s = math.inf if on_mains else self._timeline.now + ahead_s
        leaves_s = self._leaves_by(horizon_s)
        if leaves_s == math.inf == horizon_s or (on_mains and self._watch is not None):
            return
        self._forget_watch()
        self._watch = self._timeline.deadline(min(leaves_s, horizon_s))
        on = self._break_off if leaves_s <= horizon_s else partial(self._look_again, 2 * ahead_s)
        self._watch.callbacks.append(on)

    def _break_off(self, _: simpy.Event) -> None:
        if self._is_under_way:
            assert self._transfer is not None
            self._moved = self._transfer.abort()
            self._transfer.succeed()

    def _look_again(self, ahead_s: float, _: simpy.Event) -> None:
        if self._is_under_way:
            self._look_ahead(ahead_s)

    @property
    def _is_under_way(self) -> bool:
        """Whether the device has still a part in the transfer it waits for."""
        transfer = self._transfer
        return transfer is not None and not (transfer.triggered or transfer.landed)

    def _forget_watch(self) -> None:
        if self._watch is not None:
            self._timeline.forget(self._watch)
            self._watch = None

    def end(self) -> None:
        """Let the battery rest, and watch for nothing any more."""
        self.draw(None)
        self._forget_watch()

    def away(self, comes_back: bool) -> Generator[simpy.Event, Any, None]:
        """Stay away until online again, or for good.

        Raises:
            Left: the work is lost, or the device never returns.
        """
        self.draw(None)
        self._timeline.note("offline", client=self._device)
        back_s = self._fleet.returns_s(self._device, self._timeline.now)
        if not comes_back or back_s == float("inf"):
            raise Left
        yield self._timeline.at(back_s)
        self._timeline.note("online", client=self._device)
        self._restart()
