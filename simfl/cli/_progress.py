"""What a running simulation tells: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from simfl.sim.server.settings import Stop

PLAIN_EVERY_S = 10.0


def clock(seconds: float) -> str:
    """Return virtual time for people.

    >>> clock(93784.2)
    '1 d 02:03:04'
    >>> clock(12.34)
    '12.3 s'
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    days, rest = divmod(round(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    text = f"{hours:02}:{rest // 60:02}:{rest % 60:02}"
    return f"{days} d {text}" if days else text


@dataclass
class Meter:
    """Follows one run and says how far it is.

    Attributes:
        title: variant and seed.
        stop: what the bar fills up to.
    """

    title: str
    stop: Stop
    show: "Display"
    _round: int = 0
    _accuracy: float | None = None
    _began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.show.begin(self.title)

    def listen(self, time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if kind == "evaluated":
            self._accuracy = facts["accuracy"]
        elif kind == "round_end":
            self._round = facts["row"].round
            self._tell(time_s)

    def _tell(self, time_s: float) -> None:
        host_s = time.perf_counter() - self._began
        done = max(
            self._round / self.stop.rounds if self.stop.rounds else 0.0,
            time_s / self.stop.time_s if self.stop.time_s else 0.0,
        )
        of = f"/{self.stop.rounds}" if self.stop.rounds else ""
        quality = "" if self._accuracy is None else f"  accuracy {self._accuracy:.1%}"
        ratio = time_s / host_s if host_s > 0 else 0.0
        self.show.update(
            self.title,
            done,
            f"{clock(time_s)} virtual  round {self._round}{of}{quality}  "
            f"{host_s:.1f} s host ({ratio:,.0f}x)",
        )


class Display:
    """Where progress goes: a bar that redraws itself, or plain lines."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._title = ""
        self._said = 0.0

    def begin(self, title: str) -> None:
        """Show that `title` is being prepared: its data loaded, its fleet drawn."""
        if self._progress is not None:
            self._title = title
            self._task = self._progress.add_task(title, total=1.0, text="preparing")

    def update(self, title: str, done: float, text: str) -> None:
        """Show that `title` is `done` (0 to 1)."""
        now = time.perf_counter()
        if self._progress is None:
            if title != self._title or now - self._said >= PLAIN_EVERY_S or done >= 1:
                self._title, self._said = title, now
                print(f"{title}: {text}", file=sys.stderr, flush=True)
            return
        if title != self._title or self._task is None:
            self._title = title
            self._task = self._progress.add_task(title, total=1.0, text=text)
        self._progress.update(self._task, completed=min(done, 1.0), text=text)


@contextmanager
def display(quiet: bool) -> Iterator[Display | None]:
    """Show progress on stderr while the body runs."""
    console = Console(stderr=True)
    if quiet:
        yield None
    elif not console.is_terminal:
        yield Display(None)
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(20),
            TextColumn("{task.fields[text]}"),
        )
        with Progress(*columns, console=console) as progress:
            yield Display(progress)
