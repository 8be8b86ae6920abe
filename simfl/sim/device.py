"""Devices at work: sent on errands, all at once, and called off."""

from collections.abc import Callable, Sequence
from functools import partial

import simpy

from simfl.sim.errand import Errand
from simfl.sim.errand_process import ErrandProcess
from simfl.sim.fleet import Fleet
from simfl.sim.meter import Meter
from simfl.sim.networks.base import Links
from simfl.sim.timeline import Timeline


class Devices:
    """Sends devices on errands.

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

    def order(
        self, errand: Errand, salvage: Callable[[float], float] | None = None
    ) -> ErrandProcess:
        """Return what becomes of `errand`, given now, once it is among those that are to `start`.

        Args:
            errand: what to do.
            salvage: as of `ErrandProcess`.
        """
        errand.started_s = self._timeline.now
        self._links.order(errand.device)
        return ErrandProcess(self._timeline, self._fleet, self._links, self._meter, errand, salvage)

    def start(self, processes: Sequence[ErrandProcess]) -> None:
        """Let them begin now, in this order, as soon as what happens now has been done."""
        if processes:
            self._timeline.at_once(partial(_begin, processes))

    def call_off(self, processes: Sequence[ErrandProcess]) -> simpy.Event:
        """Stop those still at work; return an event for when all of them have stopped."""
        under_way = [process for process in processes if not process.triggered]
        if under_way:
            self._timeline.at_once(partial(_stop, under_way))
        return self._timeline.all_of([process for process in processes if not process.processed])


def _begin(processes: Sequence[ErrandProcess]) -> None:
    for process in processes:
        process.begin()


def _stop(processes: Sequence[ErrandProcess]) -> None:
    for process in processes:
        process.stop()
