"""An errand under way: turns it into a stretch of virtual time.  It never sees a tensor."""

from collections.abc import Callable
from functools import partial

import simpy

from simfl.sim.errand import End, Errand, Phase
from simfl.sim.fleet import Fleet
from simfl.sim.meter import Meter
from simfl.sim.networks.base import ROUNDING, Direction, Links, Transfer
from simfl.sim.stretch import Stretch
from simfl.sim.timeline import Timeline, Timer

_WAYS: dict[Phase, Direction] = {"download": "down", "upload": "up"}


class ErrandProcess(simpy.Event):
    """Download, compute, upload; until the device leaves or the server calls it off.

    It happens once the errand is over.  What follows a wait is a callback of the event that is
    waited for: a generator of SimPy's would have events of its own at its start, at each end of a
    transfer and when it is interrupted.

    Args:
        timeline: the clock.
        fleet: the devices.
        links: their links.
        meter: is told what is moved and spent.
        errand: what to do.
        salvage: units computed -> units of the SGD steps finished by then, which are kept when the
            device leaves during compute (None: it goes on where it stopped, or loses all).

    Attributes:
        errand: what is done, filled in.
    """

    __slots__ = (
        "_awaited", "_began_s", "_break_off", "_fails", "_fleet", "_lasts_s", "_left", "_links",
        "_meter", "_phase", "_rate", "_salvage", "_size", "_stays", "_stretch", "_then",
        "_timeline", "_transfer", "_units", "errand",
    )  # fmt: skip

    def __init__(
        self,
        timeline: Timeline,
        fleet: Fleet,
        links: Links,
        meter: Meter,
        errand: Errand,
        salvage: Callable[[float], float] | None,
    ) -> None:
        super().__init__(timeline)
        self._timeline, self._fleet, self._links, self._meter = timeline, fleet, links, meter
        self.errand, self._salvage = errand, salvage
        self._transfer: Transfer | None = None

    def begin(self) -> None:
        """Start now."""
        errand = self.errand
        self._stretch = Stretch(self._timeline, self._fleet, errand)
        if errand.download_bytes is None:
            self._compute()
        else:
            self._move("download", errand.download_bytes)

    def stop(self) -> None:
        """End it now, if it has not ended."""
        if self.triggered:
            return
        awaited = self._awaited
        if isinstance(awaited, Timer):  # nobody else's: it would stay in the queue until it is due
            self._timeline.forget(awaited)
        else:
            awaited.callbacks.remove(self._then)
        if self._break_off is not None:
            self._break_off()
        self._end("late")
        self.succeed()

    def _wait(
        self,
        event: simpy.Event,
        then: Callable[[simpy.Event], None],
        break_off: Callable[[], object] | None = None,
    ) -> None:
        """Let `then` go on once `event` happens, or `break_off` book what was done until then."""
        self._awaited, self._then, self._break_off = event, then, break_off
        event.callbacks.append(then)

    def _move(self, phase: Phase, size: int) -> None:
        self._phase, self._size, self._left = phase, size, size
        self._move_left()

    def _move_left(self) -> None:
        """Move what is left: what has not moved when the device leaves may be tried again."""
        device, way, left = self.errand.device, _WAYS[self._phase], self._left
        self._began_s = self._timeline.now
        self._stretch.draw(self._phase)
        lasts_s = self._links.duration_s(device, way, left)
        if lasts_s is None:
            transfer = self._transfer = self._links.transfer(device, way, left)
            self._stretch.begin(transfer, self._phase)
            self._wait(transfer, self._moved_among_others, self._break_off_among_others)
        else:
            self._lasts_s = lasts_s
            wake, self._stays = self._stretch.lasting(lasts_s)
            self._wait(wake, self._moved_alone, self._break_off_alone)

    def _moved_alone(self, _: simpy.Event) -> None:
        moved = self._left if self._stays else self._moved()
        self._book(moved)
        self._moved_all() if self._stays else self._left_behind(moved)

    def _break_off_alone(self) -> None:
        self._book(self._moved())

    def _moved_among_others(self, _: simpy.Event) -> None:
        moved = self._stretch.moved()
        self._book(self._left if moved is None else moved, self._transfer)
        self._moved_all() if moved is None else self._left_behind(moved)

    def _break_off_among_others(self) -> None:
        assert self._transfer is not None
        self._stretch.moved()
        self._book(self._transfer.abort(), self._transfer)

    def _left_behind(self, moved: int) -> None:
        """Leave for a while, or for good, after so many bytes."""
        self._left -= moved
        on_offline = self.errand.group.on_offline
        keeps = on_offline == "pause" or (self._phase == "upload" and on_offline == "salvage")
        self._go_away(keeps, self._move_left)

    def _moved_all(self) -> None:
        errand, timeline = self.errand, self._timeline
        if self._phase == "download":
            errand.download_end_s = timeline.now
            timeline.note("downloaded", client=errand.device, bytes=self._size)
            self._compute()
        else:
            errand.upload_end_s = timeline.now
            timeline.note("uploaded", client=errand.device, bytes=self._size)
            self._end("arrived")
            timeline.happen(self)

    def _book(self, moved: int, transfer: Transfer | None = None) -> None:
        """Record how many bytes have moved since it began, and how long that took the device.

        Of a `transfer` that waits at times, it is known how long bytes moved.
        """
        errand, phase = self.errand, self._phase
        if transfer is None or not transfer.waits:
            self._meter.spent(errand, phase, self._timeline.now - self._began_s)
        else:
            moved_s, idled_s = self._stretch.waited()
            self._meter.spent(errand, phase, moved_s)
            errand.polled_s += idled_s
        self._meter.moved(errand, _WAYS[phase], moved)

    def _moved(self) -> int:
        """Return the whole bytes that have moved of a transfer whose duration is known."""
        latency = float(self._fleet.latency_s[self.errand.device])
        moving = self._lasts_s - latency
        if moving <= 0:
            return 0
        share = (self._timeline.now - self._began_s - latency) / moving
        return int(min(self._left * max(share, 0.0) + ROUNDING, self._left))

    def _compute(self) -> None:
        self._rate = self._fleet.draw_rate(self.errand.device)
        self._units = self.errand.units
        failure = self._fleet.draw_failure(self.errand.device)
        self._fails = failure is not None
        if failure is not None:
            self._units *= failure
        self._compute_left()

    def _compute_left(self) -> None:
        """Compute what is left: what has not been when the device leaves may be tried again."""
        self._began_s = self._timeline.now
        self._stretch.draw("compute")
        wake, self._stays = self._stretch.lasting(self._units / self._rate)
        self._wait(wake, self._stopped_computing, self._break_off_computing)

    def _stopped_computing(self, _: simpy.Event) -> None:
        errand = self.errand
        if self._stays:
            self._meter.spent(errand, "compute", self._timeline.now - self._began_s)
            errand.done_units = errand.done_units + self._units if self._fails else errand.units
            self._failed() if self._fails else self._computed()
            return
        self._units -= self._break_off_computing()
        if self._salvage is not None:
            errand.done_units = self._salvage(errand.done_units)
            self._go_away(errand.done_units > 0, self._computed)
        else:
            self._go_away(errand.group.on_offline != "abort", self._compute_left)

    def _break_off_computing(self) -> float:
        """Book what has been computed since it began; return the units."""
        lasted_s = self._timeline.now - self._began_s
        self._meter.spent(self.errand, "compute", lasted_s)
        done = min(self._units, lasted_s * self._rate)
        self.errand.done_units += done
        return done

    def _computed(self) -> None:
        errand = self.errand
        errand.compute_end_s = self._timeline.now
        self._timeline.note("computed", client=errand.device, units=errand.done_units)
        if errand.before_upload is not None:
            errand.before_upload()
        self._move("upload", errand.upload_bytes)

    def _failed(self) -> None:
        """Lose the work, though the device stays."""
        self._timeline.note("failed", client=self.errand.device)
        self._end("offline")
        self._timeline.happen(self)

    def _go_away(self, comes_back: bool, then: Callable[[], None]) -> None:
        """Stay away until online again, and go on with `then`; or for good."""
        back_s = self._stretch.leave()
        if comes_back and back_s < float("inf"):
            self._wait(self._timeline.at(back_s), partial(self._return, then))
        else:
            self._end("offline")
            self._timeline.happen(self)

    def _return(self, then: Callable[[], None], _: simpy.Event) -> None:
        self._stretch.come_back()
        then()

    def _end(self, how: End) -> None:
        errand = self.errand
        errand.end = how
        self._stretch.end()
        errand.ended_s = self._timeline.now
        errand.sent(self._stretch.leaves_s)
        self._transfer = None
        # What refers back to this process, and would keep it alive.
        del self._awaited, self._then, self._break_off, self._salvage, self._stretch
