"""Processes of the server's own, beside the one that a run waits for."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import simpy

from simfl.sim.timeline import Timeline

Waits = Generator[simpy.Event, Any, None]


class Background:
    """Starts processes that end with the run, and brings to light what goes wrong in them.

    Attributes:
        failed: what fails when one of them does, with what it raised.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.failed = simpy.Event(timeline)
        self._timeline = timeline
        self._started: list[simpy.Process] = []
        self._room = 0  # so many may be there before those that have ended are forgotten

    @property
    def alive(self) -> list[simpy.Process]:
        """Those that have not ended, in the order in which they were started."""
        self._started = [helper for helper in self._started if helper.is_alive]
        return [*self._started]

    def spawn(self, process: Waits) -> simpy.Process:
        """Start a process."""
        started = self._timeline.process(self._guarded(process))
        self._started.append(started)
        if len(self._started) > self._room:
            self._room = 2 * len(self.alive)
        return started

    def begin(self, process: Waits) -> simpy.Process | None:
        """Go through a process at once, as far as it takes no time; start what is left of it.

        Returns:
            What is left (None: nothing).
        """
        try:
            awaited = next(process)
        except StopIteration:
            return None
        return self.spawn(_rest(process, awaited))

    def _guarded(self, process: Waits) -> Waits:
        try:
            yield from process
        except (simpy.Interrupt, GeneratorExit):
            return
        except BaseException as error:
            self._timeline.mute()
            if not self.failed.triggered:
                self.failed.fail(error)  # type: ignore[arg-type]  # interruptions too


def _rest(process: Waits, awaited: simpy.Event) -> Waits:
    """Go on with a process that waits for `awaited`, as ``yield from`` would have."""
    while True:
        try:
            go_on = partial(process.send, (yield awaited))
        except BaseException as error:  # an interruption is the process's own
            go_on = partial(process.throw, error)
        try:
            awaited = go_on()
        except StopIteration:
            return


def interrupt(timeline: Timeline, processes: Sequence[simpy.Process]) -> simpy.Event:
    """Interrupt those still running; return an event for when all of them have stopped."""
    for process in processes:
        if process.is_alive:
            process.interrupt()
    return timeline.all_of([process for process in processes if not process.processed])
