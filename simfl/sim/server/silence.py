"""Silence: work goes out and nothing comes back, in a run that nothing else would end."""

from simfl.sim.server.candidates import Candidates
from simfl.sim.server.state import RunState

IN_VAIN = 2_000
"""Participations in a row that bring no update, before the run is given up."""
MANY_IN_VAIN, EACH_IN_VAIN = 20_000, 10
"""So many, and so many of each device in the mean, are enough where one time is like another: of
work that is called off after a second there are millions in a day."""

DAY_S, WEEK_S = 86_400.0, 7 * 86_400.0
"""How long that lasts at the least: rates may follow the day, and who comes and goes the week."""


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
        self._in_vain, self._heard_s, self._heard_round = 0, 0.0, 0

    def over(self, heard: bool) -> None:
        """Take note that a participation is over, of which the server has `heard` or has not.

        One that never began, for nothing useful fitted, is over as well.
        """
        state, stop = self._state, self._state.settings.stop
        # Rounds in which nothing comes count, move bytes and spend energy.
        ends = {stop.rounds, stop.size, stop.energy_j} != {None} and self._heard_round < state.round
        if heard or ends or stop.time_s is not None:
            self._in_vain, self._heard_s, self._heard_round = 0, state.timeline.now, state.round
        self._in_vain += not heard
        lasts_s = state.timeline.now - self._heard_s
        many = max(MANY_IN_VAIN, EACH_IN_VAIN * len(self._candidates.able))
        if self._in_vain >= many and self._steady and self._candidates.all_stay:
            state.finish(
                f"no update came from {MANY_IN_VAIN:,} participations or more, at times that are "
                "all alike, and `rounds.stop` names no time"
            )
            return
        if self._in_vain < IN_VAIN or lasts_s < DAY_S:
            return
        if lasts_s >= WEEK_S or self._candidates.all_stay:
            length = "week" if lasts_s >= WEEK_S else "day"
            state.finish(  # in words that are the same for all seeds
                f"no update came for more than a {length}, from {IN_VAIN:,} participations or "
                "more, and `rounds.stop` names no time"
            )
