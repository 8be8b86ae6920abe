"""The device's process: turns an errand into a stretch of virtual time.  It never sees a tensor."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import simpy

from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import ROUNDING, Direction, Links, Transfer
from simfl.sim.timeline import Timeline, Timer

Phase = Literal["download", "compute", "upload"]
End = Literal["arrived", "late", "offline"]


@dataclass(slots=True)
class Errand:
    """What a device is sent to do, and what became of it.

    Attributes:
        device: who.
        download_bytes: to fetch first (None: it has the model already).
        units: sample-units to compute.
        upload_bytes: to send back.
        before_upload: called once the computing is done; may change `upload_bytes`.
        ends_s: when each phase ended, by name; missing if it did not.
        moved: bytes really moved, by direction.
        spent_s: seconds really spent, by phase.
        polled_s: seconds it idled until what it fetched was asked for, or what it sent looked for.
        done_units: sample-units really computed.
        end: how it ended, None while under way.
        ended_s: when.
        free_s: when its device, having delivered, leaves or is given something else to do.
    """

    device: int
    download_bytes: int | None
    units: float
    upload_bytes: int
    before_upload: Callable[[], None] | None = None
    started_s: float = 0.0
    ends_s: dict[Phase, float] = field(default_factory=dict)
    moved: dict[Direction, int] = field(default_factory=lambda: {"down": 0, "up": 0})
    spent_s: dict[Phase, float] = field(default_factory=dict)
    polled_s: float = 0.0
    done_units: float = 0.0
    end: End | None = None
    ended_s: float | None = None
    free_s: float = math.inf

    def waited_s(self, now_s: float) -> float:
        """Return how long the device has waited online since it ended, until `now_s` or `free_s`.

        Until it ends it is in one of the phases, or away.
        """
        if self.end != "arrived" or self.ended_s is None:
            return 0.0
        return max(min(now_s, self.free_s) - self.ended_s, 0.0)


class DeviceProcess:
    """Download, compute, upload; until the device leaves or the server calls it off."""

    def __init__(self, timeline: Timeline, fleet: Fleet, links: Links) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self._links = links

    def start(
        self, errand: Errand, salvage: Callable[[float], float] | None = None
    ) -> simpy.Process:
        """Start the process; its value is `errand`, filled in.

        Args:
            errand: what to do.
            salvage: units computed -> units of the SGD steps finished by then; called when a device
                leaves during compute and its group salvages.
        """
        errand.started_s = self._timeline.now
        self._links.order()
        return self._timeline.process(self._serve(errand, salvage))

    def _serve(
        self, errand: Errand, salvage: Callable[[float], float] | None
    ) -> Generator[simpy.Event, Any, Errand]:
        stretch = _Stretch(self._timeline, self._fleet, errand.device)
        on_offline = stretch.group.on_offline
        try:
            if errand.download_bytes is not None:
                yield from self._move(errand, stretch, "download", "down", errand.download_bytes)
            yield from self._compute(errand, stretch, salvage if on_offline == "salvage" else None)
            if errand.before_upload is not None:
                errand.before_upload()
            yield from self._move(errand, stretch, "upload", "up", errand.upload_bytes)
            errand.end = "arrived"
        except _Left:
            errand.end = "offline"
        except simpy.Interrupt:
            errand.end = "late"
        except GeneratorExit:
            raise
        except BaseException:
            self._timeline.mute()
            raise
        stretch.end()
        errand.ended_s, errand.free_s = self._timeline.now, stretch.leaves_s
        return errand

    def _move(
        self, errand: Errand, stretch: "_Stretch", phase: Phase, way: Direction, size: int
    ) -> Generator[simpy.Event, Any, None]:
        left = size
        on_offline = stretch.group.on_offline
        keeps = on_offline == "pause" or (phase == "upload" and on_offline == "salvage")
        while True:
            began = self._timeline.now
            stretch.draw(phase)
            transfer: Transfer | None = None
            fixed = self._links.duration_s(errand.device, way, left)
            try:
                if fixed is not None:
                    finished = yield from stretch.lasting(fixed)
                    moved = left if finished else self._moved(errand.device, left, began, fixed)
                else:
                    transfer = self._links.transfer(errand.device, way, left)
                    broken_off = yield from stretch.moving(transfer, phase)
                    finished = broken_off is None
                    moved = left if broken_off is None else broken_off
            except simpy.Interrupt:
                errand.moved[way] += (
                    self._moved(errand.device, left, began, fixed or 0.0)
                    if transfer is None
                    else transfer.abort()
                )
                self._spend_moving(errand, stretch, phase, began, transfer)
                raise
            self._spend_moving(errand, stretch, phase, began, transfer)
            errand.moved[way] += moved
            if finished:
                errand.ends_s[phase] = self._timeline.now
                self._timeline.note(f"{phase}ed", client=errand.device, bytes=size)
                return
            left -= moved
            yield from stretch.away(keeps)

    def _spend_moving(
        self,
        errand: Errand,
        stretch: "_Stretch",
        phase: Phase,
        began: float,
        transfer: Transfer | None,
    ) -> None:
        if transfer is None or not transfer.waits:
            self._spend(errand, phase, began)
            return
        moved_s, idled_s = stretch.waited()
        errand.spent_s[phase] = errand.spent_s.get(phase, 0.0) + moved_s
        errand.polled_s += idled_s

    def _moved(self, device: int, size: int, began: float, lasts_s: float) -> int:
        """Return the whole bytes that have moved of a transfer that would have lasted so long."""
        latency = float(self._fleet.latency_s[device])
        moving = lasts_s - latency
        if moving <= 0:
            return 0
        share = (self._timeline.now - began - latency) / moving
        return int(min(size * max(share, 0.0) + ROUNDING, size))

    def _compute(
        self, errand: Errand, stretch: "_Stretch", salvage: Callable[[float], float] | None
    ) -> Generator[simpy.Event, Any, None]:
        rate = self._fleet.draw_rate(errand.device)
        keeps = stretch.group.on_offline != "abort"
        left = errand.units
        while True:
            began = self._timeline.now
            stretch.draw("compute")
            try:
                finished = yield from stretch.lasting(left / rate)
            except simpy.Interrupt:
                self._spend(errand, "compute", began)
                errand.done_units += min(left, (self._timeline.now - began) * rate)
                raise
            self._spend(errand, "compute", began)
            if finished:
                errand.done_units = errand.units
                break
            done = min(left, (self._timeline.now - began) * rate)
            errand.done_units += done
            left -= done
            if salvage is not None:
                errand.done_units = salvage(errand.done_units)
                if errand.done_units <= 0:
                    yield from stretch.away(False)
                yield from stretch.away(True)
                break
            yield from stretch.away(keeps)
        errand.ends_s["compute"] = self._timeline.now
        self._timeline.note("computed", client=errand.device, units=errand.done_units)

    def _spend(self, errand: Errand, phase: Phase, began: float) -> None:
        errand.spent_s[phase] = errand.spent_s.get(phase, 0.0) + self._timeline.now - began


def call_off(timeline: Timeline, processes: Sequence[simpy.Process]) -> simpy.Event:
    """Interrupt those still running; return an event for when all of them have stopped."""
    for process in processes:
        if process.is_alive:
            process.interrupt()
    return timeline.all_of([process for process in processes if not process.processed])


_LOOK_AHEAD_S = 60.0
"""How far ahead an empty battery is looked for at first while a transfer's end is not known; twice
as far each time after that, for a charger may be plugged in and out every second."""


class _Left(Exception):
    """The device went offline, and its work with it."""


class _Stretch:
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
            _Left: the work is lost, or the device never returns.
        """
        self.draw(None)
        self._timeline.note("offline", client=self._device)
        back_s = self._fleet.returns_s(self._device, self._timeline.now)
        if not comes_back or back_s == float("inf"):
            raise _Left
        yield self._timeline.at(back_s)
        self._timeline.note("online", client=self._device)
        self._restart()
