"""Silence: work goes out and nothing comes of it, in a run that nothing else would end."""

from typing import NamedTuple

from simfl.sim.server.candidates import Candidates
from simfl.sim.server.state import RunState

IN_VAIN = 2_000
"""Participations in a row of which no update counts, before the run is given up."""
MANY_IN_VAIN, EACH_IN_VAIN = 20_000, 10
"""So many, and so many of each device in the mean, are enough where one time is like another: of
work that is called off after a second there are millions in a day."""

DAY_S, WEEK_S = 86_400.0, 7 * 86_400.0
"""How long that lasts at the least: rates may follow the day, and who comes and goes the week."""


class _Heard(NamedTuple):
    """When something was heard: after so many participations, at which instant, in which round."""

    over: int = 0
    at_s: float = 0.0
    round: int = 0


class Silence:
    """Ends the run if nothing is heard any more and no stopping rule will be met meanwhile.

    Args:
        state: of the run.
        candidates: say whether anybody ever leaves.
        steady: whether links are the same at any time.
    """

    def __init__(self, state: RunState, candidates: Candidates, steady: bool) -> None:
        self._state = state
        self._candidates = candidates
        self._steady = steady
        self._over = 0
        self._heard = self._heard_before = _Heard()  # the latter: before the round of the former

    def over(self, heard: bool) -> None:
        """Take note that a participation is over, of which the server has `heard` or has not.

        One that never began, for nothing useful fitted, is over as well; of an update that its
        client keeps back nothing is heard.  So is a selection during which everybody left.
        """
        state = self._state
        if (
            heard
            or state.settings.stop.time_s is not None
            or (self._heard.round < state.round and self._rounds_end_it)
        ):
            if self._heard.round < state.round:
                self._heard_before = self._heard
            self._heard = _Heard(self._over + heard, state.timeline.now, state.round)
        self._over += 1
        self._look()

    def heard_in_vain(self) -> None:
        """Take note that nothing counts of what was heard in this round.

        It is abandoned, or a filter of the server's has thrown all updates away, or none is finite.
        """
        if self._rounds_end_it or self._state.settings.stop.time_s is not None:
            return
        if self._heard.round == self._state.round:
            self._heard = self._heard_before
        self._look()

    @property
    def _rounds_end_it(self) -> bool:
        """Whether rounds in which nothing comes do: they count, move bytes and spend energy."""
        stop = self._state.settings.stop
        return {stop.rounds, stop.size, stop.energy_j} != {None}

    def _look(self) -> None:
        """End the run if nothing has been heard for long enough."""
        state, heard = self._state, self._heard
        in_vain, lasts_s = self._over - heard.over, state.timeline.now - heard.at_s
        if in_vain < min(IN_VAIN, MANY_IN_VAIN):  # as mostly
            return
        many = max(MANY_IN_VAIN, EACH_IN_VAIN * len(self._candidates.able))
        if in_vain >= many and self._steady and self._candidates.all_stay:
            state.finish(
                f"no update counted of {MANY_IN_VAIN:,} participations or more, at times that are "
                "all alike, and `rounds.stop` names no time"
            )
            return
        if in_vain < IN_VAIN or lasts_s < DAY_S:
            return
        if lasts_s >= WEEK_S or self._candidates.all_stay:
            length = "week" if lasts_s >= WEEK_S else "day"
            state.finish(  # in words that are the same for all seeds
                f"no update counted for more than a {length}, of {IN_VAIN:,} participations or "
                "more, and `rounds.stop` names no time"
            )
