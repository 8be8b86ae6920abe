"""Active clients: so many at work at any time, each replaced when it comes back or drops out.

What asynchronous policies share: nobody waits for a cohort, so selection goes on beside the rest.
"""

import math
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import simpy

from simfl.sim.server.background import Waits
from simfl.sim.server.dispatch import Dispatch, Inbox
from simfl.sim.server.participation import Participation
from simfl.sim.server.selection import Selection
from simfl.sim.server.state import RunState
from simfl.sim.server.waiting import Attempts, Waiting


class ActiveClients:
    """Keeps clients at work.

    Args:
        state: of the run.
        waiting: says whether anybody is there.
        selection: chooses.
        dispatch: sends.
        spawn: starts a process of the server's.
        size: how many, if the fleet has them.
        timeout_s: who takes longer is called off.
        beats: whether the policy hires anew after a while, whatever happens.
    """

    def __init__(
        self,
        state: RunState,
        waiting: Waiting,
        selection: Selection,
        dispatch: Dispatch,
        spawn: Callable[[Waits], simpy.Process],
        size: int,
        timeout_s: float = math.inf,
        beats: bool = False,
    ) -> None:
        self._state = state
        self._waiting = waiting
        self._selection = selection
        self._dispatch = dispatch
        self._spawn = spawn
        self._size = size
        self._timeout_s = timeout_s
        self._beats = beats
        self._inbox: Inbox = []
        self._hiring: simpy.Process | None = None

    def hire(self) -> None:
        """Choose replacements for who is missing; they may have to be asked first.

        Where nobody is there to be hired, the server stirs when next somebody comes back.
        """
        if self._hiring is None or not self._hiring.is_alive:
            self._hiring = self._spawn(self._hire())

    def _hire(self) -> Waits:
        attempts = Attempts()
        while not self._state.finished and (short := self._short()) > 0:
            if not self._waiting.anyone():
                self._selection.find_nobody(short)
                if not self._inbox:
                    self._waiting.stir_on_return()
                return
            chosen = yield from self._selection.select(short)
            sent = self._dispatch.send_all(chosen, inbox=self._inbox)
            if attempts.exhausted(bool(sent)):
                if self._beats:
                    return
                yield from self._waiting.until_change()
            for part in sent if self._timeout_s < math.inf else ():
                self._time(part)

    def _short(self) -> int:
        return self._size - len(self._dispatch.under_way)

    def _time(self, part: Participation) -> None:
        """Call `part` off once its time is up."""
        timeline = self._state.timeline
        end = timeline.deadline(timeline.now + self._timeout_s)
        end.callbacks.append(partial(self._time_out, part))

    def _time_out(self, part: Participation, _: simpy.Event) -> None:
        self._dispatch.call_off([part])

    def arrivals(self) -> Generator[simpy.Event, Any, list[Participation]]:
        """Wait until somebody comes back (or should be hired); return who has arrived.

        In the order of arrival; the lowest client first of those who arrived at the same instant.
        """
        if not self._inbox and not self._state.finished:
            yield self._state.change
        yield self._state.timeline.deadline(self._state.timeline.now)
        return self.take()

    def take(self) -> list[Participation]:
        """Return who has arrived since last time, in that order."""
        ended, self._inbox[:] = list(self._inbox), []
        return sorted(ended, key=lambda part: (part.errand.ended_s, part.client))
