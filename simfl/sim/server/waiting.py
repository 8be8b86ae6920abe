"""Waiting: can anybody ever do anything again, and when is it worth a look?"""

import math
from collections.abc import Callable, Generator
from typing import Any

import simpy

from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.core.words import numbered
from simfl.sim.server.background import Waits
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.state import RunState

Among = Callable[[], Ids | None]
"""Who is waited for, asked again at each look: ids, ascending (None: everybody)."""

TRIES = 16
"""Selections in a row that find nobody to send before time must pass."""

PATIENCE_S = 30 * 86_400.0
"""How long some, but never enough, may be available before a quorum is given up."""

_NOBODY = "nobody will be available again"


def _everybody() -> None:
    return None


class Waiting:
    """Waits until devices are there; ends the run when nobody ever will be.

    Once time is up nobody is there: who waits then does so until the end, or until a fork gives the
    run more time.

    Args:
        state: of the run.
        candidates: who is there.
        seeds: the run's root of randomness.

    Attributes:
        awaited: what is waited for, in words ("": nothing), also while it is looked for anew.
    """

    def __init__(self, state: RunState, candidates: Candidates, seeds: Seeds) -> None:
        self._state = state
        self._candidates = candidates
        self._seeds = seeds
        self._alarm_s = -math.inf
        self.awaited = ""

    def anyone(self, among: Ids | None = None) -> bool:
        """Return whether somebody (of `among` `(m,)`) can take part now."""
        return self._present(1, among) > 0

    def ever(self, among: Ids | None) -> bool:
        """Return whether somebody (of `among` `(m,)`) can take part now, or once back online."""
        return self.anyone(among) or len(self._candidates.returns_s(among)) > 0

    def until_somebody(self, among: Among = _everybody) -> Generator[simpy.Event, Any, Ids | None]:
        """Wait until somebody can take part or the run is finished; return among whom, `(m,)`."""
        while not self._state.finished:
            wanted = among()
            if self.anyone(wanted):
                self.awaited = ""
                yield from self.unless_time_is_up()
                return wanted
            back_s = self._candidates.next_return_s(wanted)
            # Others may come to belong to `wanted`, so long as there are any.
            others = back_s == math.inf and wanted is not None and self._any_others()
            yield from self._wait(back_s, "a client to be available", _NOBODY, others)
        return None

    def until_quorum(self, least: int, strict: bool, among: Ids | None = None) -> Waits:
        """Wait until `least` can take part at once, or the run is finished.

        Args:
            least: how many.
            strict: whether the run ends if so many never will; otherwise it makes do with all
                who are not at work and ever will be there.
            among: `(m,)` who counts (None: everybody); of these it makes do with nobody, too.
        """
        some_since_s = math.inf
        while not self._state.finished and (present := self._present(least, among)) < least:
            some_since_s = min(some_since_s, self._state.timeline.now) if present else math.inf
            returns_s = self._candidates.returns_s(among)
            if among is not None and not present and not len(returns_s):
                self.awaited = ""
                return
            least = least if strict else min(least, max(present + len(returns_s), 1))
            if present >= least:
                break
            if self._state.timeline.now - some_since_s > PATIENCE_S:
                why = f"fewer than {least} clients were available at once for 30 days"
                hint = "" if strict else " (`rounds.min_clients` says how many are enough)"
                self._state.finish(why + hint)
                break
            # No sooner can there be enough, for each return adds one.
            missing = least - present - 1
            back_s = float(returns_s[missing]) if missing < len(returns_s) else math.inf
            never = f"fewer than {least} clients will be available again" if present else _NOBODY
            clients = f"{numbered(least, 'client')} to be available at once, {present} are"
            yield from self._wait(back_s, clients, never)
        self.awaited = ""
        yield from self.unless_time_is_up()

    def unless_time_is_up(self) -> Waits:
        """Go on at once, or not before there is time for more than is due at this very instant."""
        while self._state.time_is_up and not self._state.finished:
            yield self._state.change

    def until_change(self) -> Waits:
        """Wait once nobody who was asked found anything useful to do, until something changes."""
        back_s = self._candidates.next_return_s()
        never = "nobody finds anything useful to do"
        yield from self._wait(back_s, "a client with something useful to do", never)
        self.awaited = ""

    def stir_on_return(self) -> None:
        """Let the state's `change` fire when next somebody comes back."""
        back_s = self._candidates.next_return_s()
        if back_s == math.inf:
            self._give_up(_NOBODY)
        elif back_s != self._alarm_s:
            self._alarm_s = back_s
            self._state.timeline.at(back_s).callbacks.append(self._state.stir)

    def _present(self, most: int, among: Ids | None) -> int:
        """Return how many (of `among`) can take part now, `most` or more: `most`."""
        return self._candidates.present(
            most, among, lambda: self._seeds.stream("presence", self._state.round)
        )

    def _any_others(self) -> bool:
        return self.anyone() or self._candidates.next_return_s() < math.inf

    def _wait(self, back_s: float, whom: str, never: str, others: bool = False) -> Waits:
        """Wait for a return at `back_s`, or any change; the run is finished if there is neither.

        Args:
            back_s: when somebody comes back (inf: nobody).
            whom: what is waited for.
            never: why the run is finished.
            others: whether something may change though nobody is at work.
        """
        change, timeline = self._state.change, self._state.timeline
        if back_s == math.inf:
            if not others:
                self._give_up(never)
            self.awaited = whom
            yield change
        else:
            self.awaited = f"{whom}; the next look is at {back_s:.10g} s"
            back = timeline.at(back_s)
            yield back | change
            timeline.forget(back)

    def _give_up(self, why: str) -> None:
        """Finish the run unless somebody is at work."""
        if not self._candidates.busy:
            able = len(self._candidates.able)
            self._state.finish(why if able else "every device has refused")


class Attempts:
    """Selections in a row that found nobody anything useful to do."""

    def __init__(self) -> None:
        self._in_vain = 0

    def exhausted(self, useful: bool) -> bool:
        """Count one more; return whether it is the last of too many that were not `useful`."""
        self._in_vain = 0 if useful else self._in_vain + 1
        if self._in_vain < TRIES:
            return False
        self._in_vain = 0
        return True
