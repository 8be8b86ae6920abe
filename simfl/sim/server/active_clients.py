"""Active clients: so many at work at any time, each replaced when it comes back or drops out.

What asynchronous policies share: nobody waits for a cohort, so selection goes on beside the rest.
"""

import math
from collections.abc import Generator
from functools import partial
from typing import Any

import simpy

from simfl.sim.server.background import Waiting
from simfl.sim.server.dispatch import Inbox
from simfl.sim.server.participation import Participation
from simfl.sim.server.server import Server

TRIES = 16
"""Selections in a row that find nobody to send before time must pass."""


class ActiveClients:
    """Keeps clients at work.

    Args:
        server: whose.
        size: how many, if the fleet has them.
        timeout_s: who takes longer is called off.
        beats: whether the server hires anew after a while, whatever happens.
    """

    def __init__(
        self, server: Server, size: int, timeout_s: float = math.inf, beats: bool = False
    ) -> None:
        self._server = server
        self._beats = beats
        self._size = size
        self._timeout_s = timeout_s
        self._inbox: Inbox = []
        self._hiring: simpy.Process | None = None
        self._alarm_s = -math.inf

    def hire(self) -> None:
        """Choose replacements for who is missing; they may have to be asked first.

        Where nobody is there to be hired, the server stirs when next somebody comes back.
        """
        if self._hiring is None or not self._hiring.is_alive:
            self._hiring = self._server.spawn(self._hire())

    def _hire(self) -> Waiting:
        server, tries = self._server, 0
        while not server.finished and (short := self._size - len(server.under_way)) > 0:
            if not server.anyone():
                self._wait_for_returns()
                return
            chosen = yield from server.select(short)
            sent = server.send_all(chosen, inbox=self._inbox)
            tries = 0 if sent else tries + 1
            if tries >= TRIES:
                if self._beats:
                    return
                tries = 0
                yield server.pause()
            for part in sent:
                if self._timeout_s < math.inf:
                    end = server.timeline.deadline(server.timeline.now + self._timeout_s)
                    end.callbacks.append(partial(self._time_out, part))

    def _time_out(self, part: Participation, _: simpy.Event) -> None:
        self._server.call_off([part])

    def _wait_for_returns(self) -> None:
        server = self._server
        back_s = server.candidates.next_return_s()
        if back_s < math.inf:
            if back_s != self._alarm_s:
                self._alarm_s = back_s
                server.timeline.at(back_s).callbacks.append(server.stir)
        elif not server.under_way and not self._inbox:
            server.finish("nobody will be available again")

    def arrivals(self) -> Generator[simpy.Event, Any, list[Participation]]:
        """Wait until somebody comes back (or should be hired); return who has arrived.

        In the order of arrival; the lowest client first of those who arrived at the same instant.
        """
        if not self._inbox and not self._server.finished:
            yield self._server.change
        yield self._server.timeline.deadline(self._server.timeline.now)
        return self.take()

    def take(self) -> list[Participation]:
        """Return who has arrived since last time, in that order."""
        ended, self._inbox[:] = list(self._inbox), []
        return sorted(ended, key=lambda part: (part.errand.ended_s, part.client))
