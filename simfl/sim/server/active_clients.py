"""Active clients: so many at work at any time, each replaced when it comes back or drops out.

What asynchronous policies share: nobody waits for a cohort, so selection goes on beside the rest.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simpy

from simfl.sim.server.background import Waits
from simfl.sim.server.dispatch import Dispatch, Inbox
from simfl.sim.server.participation import Participation
from simfl.sim.server.selection import Selection
from simfl.sim.server.state import RunState
from simfl.sim.server.waiting import Attempts, Waiting


@dataclass(eq=False)
class ActiveClients:
    """Keeps clients at work.

    Attributes:
        state: of the run.
        waiting: says whether anybody is there.
        selection: chooses.
        dispatch: sends.
        begin: goes through a process of the server's at once, as far as it takes no time.
        size: how many, if the fleet has them.
        timeout_s: who takes longer is called off.
        beats: whether the policy hires anew after a while, whatever happens.
    """

    state: RunState
    waiting: Waiting
    selection: Selection
    dispatch: Dispatch
    begin: Callable[[Waits], simpy.Process | None]
    size: int
    timeout_s: float = math.inf
    beats: bool = False
    _inbox: Inbox = field(default_factory=list, init=False)
    _hiring: simpy.Process | None = field(default=None, init=False)

    def hire(self) -> None:
        """Choose replacements for who is missing; they may have to be asked first.

        Where nobody is there to be hired, the server stirs when next somebody comes back.
        """
        if self._hiring is None or not self._hiring.is_alive:
            self._hiring = self.begin(self._hire())

    def _hire(self) -> Waits:
        attempts, state = Attempts(), self.state
        while not state.finished and not state.time_is_up and (short := self._short()) > 0:
            if not self.waiting.anyone():
                self.selection.accounting.fall_short(short)
                if not self._inbox:
                    self.waiting.stir_on_return()
                return
            chosen = yield from self.selection.select(short)
            sent = self.dispatch.send_all(chosen, inbox=self._inbox)
            if attempts.exhausted(bool(sent)):
                if self.beats:
                    return
                yield from self.waiting.until_change()
            for part in sent if self.timeout_s < math.inf else ():
                self._time(part)

    def _short(self) -> int:
        return self.size - len(self.dispatch.under_way)

    def _time(self, part: Participation) -> None:
        """Call `part` off once its time is up."""
        timeline = self.state.timeline
        call_off = partial(self.dispatch.call_off, [part])
        end = timeline.deadline(timeline.now + self.timeout_s)
        end.callbacks.append(lambda _: timeline.settle(call_off))
        if part.process is not None:  # once it is done its timer is of no use
            part.process.callbacks.append(lambda _: timeline.forget(end))

    def arrivals(self) -> Generator[simpy.Event, Any, list[Participation]]:
        """Wait until somebody comes back (or should be hired); return who has arrived.

        In the order of arrival; the lowest client first of those who arrived at the same instant.
        """
        if not self._inbox and not self.state.finished:
            yield self.state.change
        yield self.state.timeline.deadline(self.state.timeline.now)
        return self.take()

    def take(self) -> list[Participation]:
        """Return who has arrived since last time, in that order."""
        ended, self._inbox[:] = list(self._inbox), []
        return sorted(ended, key=lambda part: (part.errand.ended_s, part.client))
