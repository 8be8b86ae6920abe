"""A clock that stands still: work takes next to no time, in a run that only time would end."""

from simfl.sim.server.candidates import Candidates
from simfl.sim.server.settings import Stop
from simfl.sim.server.state import RunState

MANY, EACH = 20_000, 10
"""Participations, and of each device in the mean, that are looked at together: at one instant there
may be one of each."""

BILLION = 1e9
"""So many times as many would take years to simulate."""


class Standstill:
    """Ends the run if virtual time passes so slowly that its end will never come.

    Args:
        state: of the run.
        candidates: how many devices there are.
    """

    def __init__(self, state: RunState, candidates: Candidates) -> None:
        self._state = state
        self._candidates = candidates
        self._over, self._since_s = 0, 0.0

    def over(self) -> None:
        """Take note that a participation is over."""
        self._over += 1
        if self._over < max(MANY, EACH * len(self._candidates.able)):
            return
        now_s, stop = self._state.timeline.now, self._state.settings.stop
        took_s, self._over, self._since_s = now_s - self._since_s, 0, now_s
        if stop.time_s is None or stop != Stop(time_s=stop.time_s):
            return
        if stop.time_s - now_s > BILLION * took_s:
            self._state.finish(  # in words that are the same for all seeds
                f"{MANY:,} participations or more took less than a billionth of the time that is "
                "left, and `rounds.stop` names no number of rounds"
            )
