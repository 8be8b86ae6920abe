"""A device's waits for transfers of which nobody knows beforehand when they end."""

import math
from functools import partial
from typing import Protocol

import simpy

from simfl.sim.errand import Phase
from simfl.sim.networks.base import Transfer
from simfl.sim.timeline import Timeline, Timer

_LOOK_AHEAD_S = 60.0
"""How far ahead an empty battery is looked for at first; twice as far each time after that, for a
charger may be plugged in and out every second."""


class Stay(Protocol):
    """How long a device stays, and what it does until then."""

    def leaves_by(self, horizon_s: float) -> float:
        """Return when it leaves or its battery is empty, if not after `horizon_s`."""

    def stayed_until(self) -> float:
        """Return until when, at most now, it has been there."""

    def draw(self, phase: Phase | None) -> None:
        """Let the battery feed a phase of work from now on (None: no work)."""

    def land(self) -> None:
        """Take note that all bytes have left the device, which has no more part in the transfer."""


class TransferWait:
    """Waits for one transfer after the other, which the device's leaving breaks off.

    Args:
        timeline: of the run.
        on_mains: whether the device has no battery, so that it is known when it leaves.
        stay: of the device.
    """

    __slots__ = (
        "_idles_s", "_moved", "_moves", "_moves_s", "_on_mains", "_phase", "_since_s", "_stay",
        "_timeline", "_transfer", "_watch",
    )  # fmt: skip

    def __init__(
        self,
        timeline: Timeline,
        on_mains: bool,
        stay: Stay,
    ) -> None:
        self._timeline = timeline
        self._on_mains = on_mains
        self._stay = stay
        self._watch: Timer | None = None
        self._transfer: Transfer | None = None
        self._moved: int | None = None
        self._phase: Phase = "download"
        self._since_s = self._moves_s = self._idles_s = 0.0

    def begin(self, transfer: Transfer, phase: Phase) -> None:
        """Break `transfer` off when the device leaves, until `end`."""
        self._transfer, self._moved = transfer, None
        if transfer.waits:
            self._phase, self._since_s = phase, self._timeline.now
            self._moves_s = self._idles_s = 0.0
            self._moves = transfer.moves
            self._stay.draw(phase if self._moves else None)
            transfer.on_move = self._on_move
        self._look_ahead(_LOOK_AHEAD_S)

    def end(self) -> int | None:
        """Return None if the transfer has ended by itself, or what had moved when the device left.

        It need not have ended: nobody waits for it any more.
        """
        self._transfer = None
        return self._moved

    def spent(self) -> tuple[float, float]:
        """Return how long the last transfer that waits has moved, and how long it idled here."""
        self._account()
        return self._moves_s, self._idles_s

    def forget(self) -> None:
        """Watch for the device's leaving no more: it has left, or is done."""
        if self._watch is not None:
            self._timeline.forget(self._watch)
            self._watch = None

    def _on_move(self, moves: bool) -> None:
        """Feed a transfer that waits while its bytes move; once they all have, nothing ends it."""
        self._account()
        self._moves = moves
        self._stay.draw(self._phase if moves else None)
        if moves:
            self._look_ahead(_LOOK_AHEAD_S)
        else:
            self._stay.land()

    def _account(self) -> None:
        """Add up how long a transfer that waits has moved, and how long it idled here."""
        now_s = self._timeline.now
        if self._moves:
            self._moves_s += now_s - self._since_s
        else:
            self._idles_s += max(self._stay.stayed_until() - self._since_s, 0.0)
        self._since_s = now_s

    def _look_ahead(self, ahead_s: float) -> None:
        """Have the transfer broken off when the device leaves."""
        if self._on_mains and self._watch is not None:
            return
        horizon_s = math.inf if self._on_mains else self._timeline.now + ahead_s
        leaves_s = self._stay.leaves_by(horizon_s)
        if leaves_s == math.inf == horizon_s:
            return
        self.forget()
        self._watch = self._timeline.deadline(min(leaves_s, horizon_s))
        on = self._break_off if leaves_s <= horizon_s else partial(self._look_again, 2 * ahead_s)
        self._watch.callbacks.append(on)

    def _break_off(self, _: simpy.Event) -> None:
        if self._is_under_way:
            assert self._transfer is not None
            self._moved = self._transfer.abort()
            self._timeline.happen(self._transfer)

    def _look_again(self, ahead_s: float, _: simpy.Event) -> None:
        if self._is_under_way:
            self._look_ahead(ahead_s)

    @property
    def _is_under_way(self) -> bool:
        """Whether the device has still a part in the transfer it waits for."""
        transfer = self._transfer
        return transfer is not None and not (transfer.triggered or transfer.landed)
