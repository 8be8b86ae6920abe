"""A standstill: work takes next to no time, or no energy, in a run that only these would end."""

from simfl.sim.server.accounting import Accounting
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.settings import Stop
from simfl.sim.server.silence import WEEK_S
from simfl.sim.server.state import RunState

MANY, EACH = 20_000, 10
"""Participations, and of each device in the mean, that are looked at together: at one instant there
may be one of each."""

MILLION = 1e6
"""So many times as many, 20 billion, would take weeks to simulate."""


class Standstill:
    """Ends the run if virtual time or energy grow so slowly that its end will never come.

    Where time passes, those who spend none may be alone there for days: energy is given up after a
    week of that.

    Args:
        state: of the run.
        candidates: how many devices there are.
        accounting: what they have spent.
    """

    def __init__(self, state: RunState, candidates: Candidates, accounting: Accounting) -> None:
        self._state = state
        self._candidates = candidates
        self._accounting = accounting
        self._over, self._since_s, self._since_j = 0, 0.0, 0.0
        self._spent_s = 0.0  # when they had spent anything worth mentioning last

    def over(self) -> None:
        """Take note that a participation is over."""
        self._over += 1
        if self._over < max(MANY, EACH * len(self._candidates.able)):
            return
        now_s, now_j = self._state.timeline.now, self._accounting.total_energy_j
        took_s, took_j = now_s - self._since_s, now_j - self._since_j
        self._over, self._since_s, self._since_j = 0, now_s, now_j
        stop = self._state.settings.stop
        if stop == Stop() or stop != Stop(time_s=stop.time_s, energy_j=stop.energy_j):
            return
        if stop.time_s is not None and stop.time_s - now_s <= MILLION * took_s:
            return
        if stop.energy_j is not None:
            if stop.energy_j - now_j <= MILLION * took_j:
                self._spent_s = now_s
                return
            if now_s - self._spent_s < WEEK_S <= MILLION * took_s:
                return
        limits = {"time": stop.time_s, "energy": stop.energy_j}
        left = " and of the ".join(name for name, limit in limits.items() if limit is not None)
        self._state.finish(  # in words that are the same for all seeds
            f"{MANY:,} participations or more took less than a millionth of the {left} that is "
            "left, and `rounds.stop` names no number of rounds"
        )
