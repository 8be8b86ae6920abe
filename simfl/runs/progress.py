"""How far a run is, told now and then while it goes on."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from simfl.sim.server.server import Server

EVERY_S = 0.25
"""Host seconds between two reports, at least."""
SILENCE_S = 2.0
"""Host seconds without a round before it is told what the run waits for."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        time_s: virtual time.
        round: the last one that ended.
        accuracy: at the last evaluation.
        host_s: since it began.
        waits_for: what for, in words ("": it goes on).
        ended: whether it has.
    """

    time_s: float = 0.0
    round: int = 0
    accuracy: float | None = None
    host_s: float = 0.0
    waits_for: str = ""
    ended: bool = False


Tell = Callable[[Progress], None]


class Reporter:
    """Follows one run, in its process.

    Args:
        server: whose.
        tell: is told, now and then.
    """

    def __init__(self, server: Server, tell: Tell) -> None:
        self._server, self._tell = server, tell
        self._progress = Progress()
        self._began = self._moved = time.perf_counter()
        self._told = 0.0
        self._over = threading.Event()

    def listen(self, _time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if kind == "evaluated":
            self._progress = replace(self._progress, accuracy=facts["accuracy"])
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
                    self._report(waits_for=self._server.waiting_for)

    def end(self, ended: bool) -> None:
        """Tell the last of it."""
        self._over.set()
        self._report(ended=ended)

    def _report(self, waits_for: str = "", ended: bool = False) -> None:
        self._told = time.perf_counter()
        self._tell(
            replace(
                self._progress,
                time_s=self._server.timeline.now,
                host_s=self._told - self._began,
                waits_for=waits_for,
                ended=ended,
            )
        )


@contextmanager
def reporting(server: Server, tell: Tell | None) -> Iterator[None]:
    """Tell how far the run of `server` is while the body runs."""
    if tell is None:
        yield
        return
    reporter = Reporter(server, tell)
    server.timeline.listen(reporter.listen)
    thread = threading.Thread(target=reporter.look, daemon=True)
    thread.start()
    ended = False
    try:
        yield
        ended = True
    finally:
        reporter.end(ended)
        thread.join()
