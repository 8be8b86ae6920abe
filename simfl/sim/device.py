"""The device's process: turns an errand into a stretch of virtual time.  It never sees a tensor."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import simpy

from simfl.sim.errand import Errand, Phase
from simfl.sim.fleet import Fleet
from simfl.sim.meter import Meter
from simfl.sim.networks.base import ROUNDING, Direction, Links
from simfl.sim.stretch import Left, Stretch
from simfl.sim.timeline import Timeline

_WAYS: dict[Phase, Direction] = {"download": "down", "upload": "up"}


class DeviceProcess:
    """Download, compute, upload; until the device leaves or the server calls it off.

    Args:
        timeline: the clock.
        fleet: the devices.
        links: their links.
        meter: is told what is moved and spent.
    """

    def __init__(self, timeline: Timeline, fleet: Fleet, links: Links, meter: Meter) -> None:
        self._timeline = timeline
        self._fleet = fleet
        self._links = links
        self._meter = meter

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
        stretch = Stretch(self._timeline, self._fleet, errand)
        try:
            if errand.download_bytes is not None:
                yield from self._move(errand, stretch, "download", errand.download_bytes)
            yield from self._compute(errand, stretch, salvage)
            if errand.before_upload is not None:
                errand.before_upload()
            yield from self._move(errand, stretch, "upload", errand.upload_bytes)
            errand.end = "arrived"
        except Left:
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
        self, errand: Errand, stretch: Stretch, phase: Phase, size: int
    ) -> Generator[simpy.Event, Any, None]:
        """Move so many bytes: what has not moved when the device leaves may be tried again."""
        left = size
        while True:
            stretch.draw(phase)
            lasts_s = self._links.duration_s(errand.device, _WAYS[phase], left)
            if lasts_s is None:
                moved = yield from self._move_among_others(errand, stretch, phase, left)
            else:
                moved = yield from self._move_alone(errand, stretch, phase, left, lasts_s)
            if moved is None:
                break
            left -= moved
            on_offline = errand.group.on_offline
            keeps = on_offline == "pause" or (phase == "upload" and on_offline == "salvage")
            yield from stretch.away(keeps)
        errand.ends_s[phase] = self._timeline.now
        self._timeline.note(f"{phase}ed", client=errand.device, bytes=size)

    def _move_alone(
        self, errand: Errand, stretch: Stretch, phase: Phase, size: int, lasts_s: float
    ) -> Generator[simpy.Event, Any, int | None]:
        """Move bytes that take so long whatever others do.

        Returns:
            None once all have moved, or how many had when the device left.
        """
        began = self._timeline.now
        wake, stays = stretch.lasting(lasts_s)
        try:
            yield wake
        except simpy.Interrupt:
            self._book(errand, phase, began, self._moved(errand.device, size, began, lasts_s))
            raise
        moved = size if stays else self._moved(errand.device, size, began, lasts_s)
        self._book(errand, phase, began, moved)
        return None if stays else moved

    def _move_among_others(
        self, errand: Errand, stretch: Stretch, phase: Phase, size: int
    ) -> Generator[simpy.Event, Any, int | None]:
        """Move bytes over links that others may share; returns what `_move_alone` does."""
        began = self._timeline.now
        transfer = self._links.transfer(errand.device, _WAYS[phase], size)
        watcher = stretch if transfer.waits else None
        stretch.begin(transfer, phase)
        try:
            try:
                yield transfer
            finally:
                broken_off = stretch.moved()
        except simpy.Interrupt:
            self._book(errand, phase, began, transfer.abort(), watcher)
            raise
        self._book(errand, phase, began, size if broken_off is None else broken_off, watcher)
        return broken_off

    def _book(
        self,
        errand: Errand,
        phase: Phase,
        began: float,
        moved: int,
        watcher: Stretch | None = None,
    ) -> None:
        """Record how many bytes have moved since `began`, and how long that took the device.

        Of a transfer that waits at times, its `watcher` knows how long bytes moved.
        """
        if watcher is None:
            self._spend(errand, phase, began)
        else:
            moved_s, idled_s = watcher.waited()
            self._meter.spent(errand, phase, moved_s)
            errand.polled_s += idled_s
        self._meter.moved(errand, _WAYS[phase], moved)

    def _moved(self, device: int, size: int, began: float, lasts_s: float) -> int:
        """Return the whole bytes that have moved of a transfer that would have lasted so long."""
        latency = float(self._fleet.latency_s[device])
        moving = lasts_s - latency
        if moving <= 0:
            return 0
        share = (self._timeline.now - began - latency) / moving
        return int(min(size * max(share, 0.0) + ROUNDING, size))

    def _compute(
        self, errand: Errand, stretch: Stretch, salvage: Callable[[float], float] | None
    ) -> Generator[simpy.Event, Any, None]:
        rate = self._fleet.draw_rate(errand.device)
        left = errand.units
        while True:
            began = self._timeline.now
            stretch.draw("compute")
            try:
                wake, finished = stretch.lasting(left / rate)
                yield wake
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
            on_offline = errand.group.on_offline
            if salvage is not None and on_offline == "salvage":
                errand.done_units = salvage(errand.done_units)
                if errand.done_units <= 0:
                    yield from stretch.away(False)
                yield from stretch.away(True)
                break
            yield from stretch.away(on_offline != "abort")
        errand.ends_s["compute"] = self._timeline.now
        self._timeline.note("computed", client=errand.device, units=errand.done_units)

    def _spend(self, errand: Errand, phase: Phase, began: float) -> None:
        self._meter.spent(errand, phase, self._timeline.now - began)


def call_off(timeline: Timeline, processes: Sequence[simpy.Process]) -> simpy.Event:
    """Interrupt those still running; return an event for when all of them have stopped."""
    for process in processes:
        if process.is_alive:
            process.interrupt()
    return timeline.all_of([process for process in processes if not process.processed])
