"""Processes of the server's own, beside the one that a run waits for."""

from collections.abc import Generator, Sequence
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

    @property
    def alive(self) -> list[simpy.Process]:
        """Those that have not ended, in the order in which they were started."""
        self._started = [helper for helper in self._started if helper.is_alive]
        return self._started

    def spawn(self, process: Waits) -> simpy.Process:
        """Start a process."""
        started = self._timeline.process(self._guarded(process))
        self._started = [*self.alive, started]
        return started

    def _guarded(self, process: Waits) -> Waits:
        try:
            yield from process
        except (simpy.Interrupt, GeneratorExit):
            return
        except BaseException as error:
            self._timeline.mute()
            if not self.failed.triggered:
                self.failed.fail(error)  # type: ignore[arg-type]  # interruptions too


def interrupt(timeline: Timeline, processes: Sequence[simpy.Process]) -> simpy.Event:
    """Interrupt those still running; return an event for when all of them have stopped."""
    for process in processes:
        if process.is_alive:
            process.interrupt()
    return timeline.all_of([process for process in processes if not process.processed])
