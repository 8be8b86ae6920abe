"""Where a run stands: the round, the model's version, whether it is over."""

import simpy

from simfl.sim.server.settings import Settings
from simfl.sim.timeline import ROUNDING, Timeline


class RunState:
    """What every part of the server may know of the others' work.

    Attributes:
        timeline: the clock.
        note: writes an event into the log.
        settings: what the server was told; forks of runs change it.
        round: number of the aggregation being worked for, 1-based.
        version: aggregations of updates so far, even if all of these were discarded.
        why_finished: which stopping rule was met, if any.
    """

    def __init__(self, timeline: Timeline, settings: Settings) -> None:
        self.timeline = timeline
        self.settings = settings
        self.note = timeline.note
        self.round = 0
        self.version = 0
        self.why_finished: str | None = None
        self._change = simpy.Event(timeline)
        self._change_is_awaited = False

    @property
    def change(self) -> simpy.Event:
        """What fires when next somebody stops working or comes back, or the run is finished."""
        self._change_is_awaited = True  # else it need not fire at all
        return self._change

    @property
    def finished(self) -> bool:
        """Whether a stopping rule has been met."""
        return self.why_finished is not None

    @property
    def time_is_up(self) -> bool:
        """Whether the run may only do what is due at this very instant, rounding aside."""
        stop_s = self.settings.stop.time_s
        return stop_s is not None and self.timeline.now >= stop_s * (1 - ROUNDING)

    def finish(self, why: str) -> None:
        """End the run, for the first reason given."""
        if self.why_finished is None:
            self.why_finished = why
            self.stir()

    def stir(self, _: simpy.Event | None = None) -> None:
        """Let everybody who waits for a change look again."""
        if self._change_is_awaited:
            self._change_is_awaited = False
            change, self._change = self._change, simpy.Event(self.timeline)
            change.succeed()
