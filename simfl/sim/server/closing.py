"""Closing: when a round may close."""

import math
from collections.abc import Sequence

import simpy

from simfl.sim.errand_process import ErrandProcess
from simfl.sim.server.participation import Participation
from simfl.sim.timeline import Timeline


class Closing:
    """Watches over those whom rounds wait for: there may be several, of tiers or edges."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._open: dict[simpy.Event, float] = {}

    @property
    def closes_s(self) -> float:
        """When the last of those under way closes at the latest (inf: nobody knows)."""
        return max(self._open.values(), default=math.inf)

    def closing(
        self, parts: Sequence[Participation], limit_s: float, enough: int | None = None
    ) -> simpy.Event:
        """Return an event for when a round may close.

        That is when `enough` of `parts` have arrived or all have stopped, be it before now,
        whatever else happens at that very instant (or what rounding puts later) included, or
        `limit_s` from now.  Where nobody was sent, the server learns of it only when the time is
        up.
        """
        timeline = self._timeline
        event = simpy.Event(timeline)
        arrived, working = 0, len(parts)
        at_work = {part.client: part for part in parts if part.process is not None}
        self._open[event] = closes_s = timeline.now + limit_s
        event.callbacks.append(self._open.__delitem__)

        def close(_: simpy.Event) -> None:
            if not event.triggered:
                event.succeed()

        def count(part: Participation) -> None:
            nonlocal arrived, working
            arrived, working = arrived + part.arrived, working - 1
            if not working:  # nothing is left that rounding could put later
                timeline.deadline(timeline.now).callbacks.append(close)
            elif part.arrived and arrived == enough:
                timeline.time_up(timeline.now).callbacks.append(close)

        def over(process: simpy.Event) -> None:
            assert isinstance(process, ErrandProcess)
            count(at_work[process.errand.device])

        for part in parts:
            if part.process is None:
                count(part)
            else:
                part.process.callbacks.append(over)
        if limit_s < math.inf:
            timer, up = timeline.deadline(closes_s), simpy.Event(timeline)
            up.callbacks.append(close)
            timer.callbacks.append(lambda _: timeline.settle(up.succeed))
            event.callbacks.append(lambda _: timeline.forget(timer))  # of no use once it is closed
        elif not parts:
            event.succeed()
        return event
