"""What running simulations tell: a table of bars on a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.table import Column
from typing_extensions import override

from simfl.report import formats
from simfl.runs.job import Job
from simfl.runs.many import Watch
from simfl.runs.progress import Progress

PLAIN_EVERY_S = 10.0
SURE = 0.02
"""Share of the work after which it is told how long the rest may take."""
TEXT, SHORTEST = 70, 16
"""Columns that numbers take, and those that names are cut to before numbers are."""
MOST_SHOWN = 12
"""Bars of finished runs stay while there are no more runs than that."""


def has_begun(progress: Progress) -> bool:
    """Whether a run does more than prepare itself; one that is resumed is not at its start."""
    begun = progress.time_s or progress.round or progress.waits_for or progress.ended
    return bool(progress.host_s and begun)


def text_of(progress: Progress, rounds: int | None, left: str = "", room: float = math.inf) -> str:
    """Return a line on a run that is to have so many rounds (None: not known).

    Args:
        progress: how far it is.
        rounds: how many it is to have.
        left: how long the rest may take, in words ("": it is not told).
        room: columns that it has; what matters least goes first, the host's time.
    """
    if not has_begun(progress):
        return "preparing"
    planned = f"/{rounds}" if rounds else ""
    quality = ""
    if progress.accuracy is not None:
        quality = f"  accuracy {progress.accuracy:.1%}"
    elif progress.loss is not None:
        quality = f"  loss {progress.loss:.4g}"
    ratio = progress.time_s / progress.host_s
    waits = f"; {progress.waits_for}" if progress.waits_for else ""
    rest = f"  {left}" if left else ""
    time, done = (
        formats.duration(progress.time_s),
        f"round {progress.round}{planned}{quality}{rest}",
    )
    host = f"{progress.host_s:.1f} s host ({f'{ratio:,.0f}' if ratio >= 1 else '<1'}x)"
    forms = [f"{time} virtual  {done}  {host}", f"{time} virtual  {done}", f"{time}  {done}"]
    return next((form for form in forms if len(form) <= room), forms[-1]) + waits


class Board(Watch):
    """What is known of all runs of a command: a line now and then, and one at the end of each."""

    _said = 0.0
    _text_room = math.inf

    @override
    def begin(self, jobs: Sequence[Job], processes: int) -> None:
        self._jobs = jobs
        self._shares = [0.0] * len(jobs)
        self._done = 0
        self._began: tuple[float, float] | None = None
        if processes > 1:
            self.say(f"{len(jobs)} runs, {processes} at a time")

    @override
    def tell(self, number: int, progress: Progress) -> None:
        stop = self._jobs[number].scenario.rounds.stop
        share = max(
            progress.round / stop.rounds if stop.rounds else 0.0,
            progress.time_s / stop.time if stop.time else 0.0,
        )
        self._shares[number] = 1.0 if progress.ended else min(share, 1.0)
        self._done += progress.ended
        if self._began is None and has_begun(progress):
            self._began = time.perf_counter(), self._share()
        left = self.left() if len(self._jobs) == 1 else ""
        self.show(number, progress, text_of(progress, stop.rounds, left, self._text_room))

    def _share(self) -> float:
        return sum(self._shares) / max(len(self._shares), 1)

    def left(self) -> str:
        """Return how long the rest may take ("": nobody knows yet).

        Imports and data are loaded before the first of it, so it is counted from there.
        """
        since_s, before = self._began or (0.0, 1.0)
        done = self._share() - before
        if done < SURE or self._share() >= 1.0:
            return ""
        left_s = (time.perf_counter() - since_s) * (1 - self._share()) / done
        return f"{formats.roughly(left_s)} left"

    def overall(self) -> str:
        """Return how many runs are done, and how long the rest may take."""
        left = self.left()
        return f"{self._done} of {len(self._jobs)} runs done{f', {left}' if left else ''}"

    def say(self, text: str) -> None:
        """Show a line that stays."""
        with suppress(OSError):  # whoever read it may have left; the run goes on
            print(text, file=sys.stderr, flush=True)

    def show(self, number: int, progress: Progress, text: str) -> None:
        """Show how far a run is."""
        now = time.perf_counter()
        due = progress.host_s and now - self._said >= PLAIN_EVERY_S
        if progress.ended or (due and self._shares[number] < 1.0):  # its last line comes at once
            self._said = now
            overall = f"  ({self.overall()})" if len(self._jobs) > 1 else ""
            self.say(f"{self._jobs[number].title}: {text}{overall}")


class Table(Board):
    """Redraws a bar for each run, and one for all of them."""

    def __init__(self, bars: Bars, titles: Column, texts: Column) -> None:
        self._bars = bars
        self._titles, self._texts = titles, texts
        self._tasks: dict[int, TaskID] = {}
        self._all: TaskID | None = None

    @override
    def begin(self, jobs: Sequence[Job], processes: int) -> None:
        super().begin(jobs, processes)
        longest = max((len(job.title) for job in jobs), default=0)
        self._room = min(longest, max(self._bars.console.width - TEXT, SHORTEST))
        self._titles.min_width = self._room
        self._texts.max_width = max(self._bars.console.width - self._room - 2, 1)
        self._text_room = self._texts.max_width
        if len(jobs) > 1:
            self._all = self._bars.add_task("all", total=len(jobs), text=self.overall())

    @override
    def say(self, text: str) -> None:
        self._bars.console.print(text, highlight=False)

    @override
    def show(self, number: int, progress: Progress, text: str) -> None:
        if number not in self._tasks:
            title = formats.shortened(self._jobs[number].title, self._room)
            self._tasks[number] = self._bars.add_task(title, total=1.0, text=text)
        hidden = progress.ended and len(self._jobs) > MOST_SHOWN
        share = self._shares[number]
        self._bars.update(self._tasks[number], completed=share, text=text, visible=not hidden)
        if self._all is not None:
            self._bars.update(self._all, completed=sum(self._shares), text=self.overall())


def is_watched() -> bool:
    """Whether somebody looks on: there is a terminal, or a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


@contextmanager
def display(quiet: bool, passing: bool = False) -> Iterator[Board | None]:
    """Show progress on stderr while the body runs; `passing`: on a terminal, and only as long."""
    console = Console(stderr=True)
    terminal = console.is_terminal and not console.is_dumb_terminal
    redrawn = terminal or (console.is_jupyter and find_spec("ipywidgets"))
    if quiet or (passing and not redrawn):
        yield None
    elif not redrawn:
        yield Board()
    else:
        # The bar has what is left.  Where it is narrow the text loses what matters least, then its
        # end, never the seed.
        titles, texts = Column(no_wrap=True), Column(no_wrap=True)
        columns = (
            TextColumn("{task.description}", table_column=titles),
            BarColumn(20),
            TextColumn("{task.fields[text]}", table_column=texts),
        )
        with Bars(*columns, console=console, transient=passing) as bars:
            yield Table(bars, titles, texts)
