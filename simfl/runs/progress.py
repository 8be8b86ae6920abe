"""How far a run is, told now and then while it goes on."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any

from simfl.core.at_work import at_work
from simfl.sim.server.server import Server

EVERY_S = 0.25
"""Host seconds between two reports, at least."""
MOST_TEXT = 120
"""Characters about what a run waits for."""
SILENCE_S = 2.0
"""Host seconds without a round before it is told what the run waits for."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        time_s: virtual time.
        round: the last one that ended.
        accuracy: at the last evaluation (None: there is none).
        host_s: since it began.
        waits_for: what for, in words ("": it goes on).
        ended: whether it has.
        loss: at the last evaluation.
    """

    time_s: float = 0.0
    round: int = 0
    accuracy: float | None = None
    host_s: float = 0.0
    waits_for: str = ""
    ended: bool = False
    loss: float | None = None


Tell = Callable[[Progress], None]


class Reporter:
    """Follows one run, in its process.

    Args:
        tell: is told, now and then.
    """

    def __init__(self, tell: Tell) -> None:
        self._server: Server | None = None
        self._tell = tell
        self._progress = Progress()
        self._began = self._moved = time.perf_counter()
        self._told = 0.0
        self._over = threading.Event()

    def follow(self, server: Server) -> None:
        """Tell how far `server` is from now on."""
        self._server = server
        server.timeline.listen(self.listen, ("evaluated", "round_end"))

    def listen(self, _time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if kind == "evaluated":
            judged = {name: facts[name] for name in ("accuracy", "loss")}
            self._progress = replace(self._progress, **judged)
        elif kind == "round_end":
            self._progress = replace(self._progress, round=facts["row"].round)
            self._moved = time.perf_counter()
            if self._moved - self._told >= EVERY_S:
                self._report()

    def look(self) -> None:
        """Tell what is waited for, whenever nothing else was told for a while."""
        while not self._over.wait(SILENCE_S / 2):
            now = time.perf_counter()
            if now - self._moved >= SILENCE_S:
                with contextlib.suppress(RuntimeError):  # what it looks at changes meanwhile
                    waits_for = at_work() or self._waits_for()
                    self._report(waits_for=shorten(waits_for, MOST_TEXT, placeholder="..."))

    def _waits_for(self) -> str:
        return "" if self._server is None else self._server.waiting_for

    def end(self, ended: bool) -> None:
        """Tell the last of it, unless it failed before it began: there is nothing to tell."""
        self._over.set()
        if ended or self._server is not None:
            self._report(ended=ended)

    def _report(self, waits_for: str = "", ended: bool = False) -> None:
        self._told = time.perf_counter()
        self._tell(
            replace(
                self._progress,
                time_s=0.0 if self._server is None else self._server.timeline.now,
                host_s=self._told - self._began,
                waits_for=waits_for,
                ended=ended,
            )
        )


@contextmanager
def reporting(tell: Tell | None) -> Iterator[Reporter | None]:
    """Tell how far a run is, and whose code keeps it waiting, while the body runs."""
    if tell is None:
        yield None
        return
    reporter = Reporter(tell)
    thread = threading.Thread(target=reporter.look, daemon=True)
    thread.start()
    ended = False
    try:
        yield reporter
        ended = True
    finally:
        reporter.end(ended)
        thread.join()
