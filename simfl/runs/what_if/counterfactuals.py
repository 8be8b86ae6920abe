"""What would have made a run shorter: its clock again, without training, with one thing changed.

Each change is written as `--set` would have it, and made to the run's resolved scenario; fleet,
outages and selections draw the same random numbers.  The clock alone decides nothing that needs a
model: where the run's own clock, unchanged, does not come out as recorded (its selector or filter
looks at losses or updates), nothing is computed, since a change would reach what they look at.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from typing_extensions import override

from simfl.core.words import numbered
from simfl.errors import SimflError
from simfl.runs.job import jobs
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.progress import Progress
from simfl.runs.results.grouping import only_longer
from simfl.runs.results.result import RunResult
from simfl.runs.run_jobs import run_jobs
from simfl.runs.what_if.changes import Change, changes
from simfl.scenario import Document
from simfl.scenario.parts.rounds import Stop

CHEAP = 10_000
"""Participations of a run whose clock is run again unasked."""
AT_MOST = 10
"""So many times as long as the run may a changed one last: for what never comes, such as a quorum,
it might wait for weeks."""
UNCHANGED = "unchanged"
"""What the run's own clock is called."""


@dataclass(frozen=True)
class Counterfactual:
    """What came of one change.

    Attributes:
        change: what was changed.
        time_s: virtual time of as many rounds as the run had (NaN: not known).
        lost: share of participations that came to nothing (not: that were at work at the end).
        why_not: why it is not known ("": it is).
    """

    change: Change
    time_s: float = math.nan
    lost: float = math.nan
    why_not: str = ""


@dataclass(frozen=True)
class WhatIf:
    """What each change that could matter would have made of a run.

    Attributes:
        cases: a change each.
        lost: share of participations that came to nothing in as many rounds of the run's own clock,
            unchanged (NaN: not known).
    """

    cases: Sequence[Counterfactual] = ()
    lost: float = math.nan


def counterfactuals(
    run: RunResult, options: Options | None = None, watch: Watch | None = None
) -> WhatIf:
    """Return what each change that could matter would have made of a run.

    Args:
        run: with at least one round.
        options: where its data lie.
        watch: is told how far the clocks are.
    """
    planned = changes(run)
    clock = _Clock(run, options or Options(), planned, watch or Watch())
    why, lost = clock.unchanged()
    if why:
        return WhatIf([Counterfactual(change, why_not=why) for change in planned])
    return WhatIf([clock.with_(change) for change in planned], lost)


class _OneOf(Watch):
    """Tells a `watch` of many runs of one that is made by itself."""

    def __init__(self, watch: Watch, number: int) -> None:
        self._watch, self._number = watch, number

    @override
    def tell(self, number: int, progress: Progress) -> None:
        self._watch.tell(self._number, progress)


class _Course(NamedTuple):
    """What came of a clock.

    Attributes:
        ends_s: of its rounds.
        end_s: its own.
        lost: share of participations that came to nothing.
    """

    ends_s: list[float]
    end_s: float
    lost: float


class _Clock:
    """Runs a run's clock again."""

    def __init__(
        self, run: RunResult, options: Options, planned: Sequence[Change], watch: Watch
    ) -> None:
        self._run, self._watch = run, watch
        self._titles = [UNCHANGED, *(change.name for change in planned if not change.why_not)]
        self._options = Options(
            executor="inline", jobs=1, time_only=True, data_dir=options.data_dir
        )
        stop = dict.fromkeys(Stop.model_fields) | {"rounds": run.n_rounds}
        document = Document.of(run.scenario, folder=run.folder)
        self._document = document.set(
            "log=[]",  # trackers record runs, which these are not
            *(f"rounds.stop.{k}={json.dumps(v)}" for k, v in stop.items()),
        )

    def unchanged(self) -> tuple[str, float]:
        """Return why the clock alone says nothing of this run, if so, and what it loses."""
        if not all(map(only_longer, self._run.forks)):
            return "it is a fork: its rules were others before", math.nan
        try:
            course = self._course(self._document, UNCHANGED)
        except SimflError as error:
            return f"the clock alone can't run again: {_first_line(error)}", math.nan
        if course.ends_s != self._run.of_rounds("end_s").tolist():
            why = (
                "without training its clock takes another course: who is chosen, or what is "
                "sent, depends on what was learnt"
            )
            return why, math.nan
        return "", course.lost

    def with_(self, change: Change) -> Counterfactual:
        """Return what comes of a change."""
        if change.why_not:
            return Counterfactual(change, why_not=change.why_not)
        most_s = AT_MOST * float(self._run.of_rounds("end_s")[-1])
        limit = [f"rounds.stop.time={most_s!r} s"] if most_s else []
        try:
            course = self._course(self._document.set(*change.sets, *limit), change.name)
        except SimflError as error:
            return Counterfactual(change, why_not=_first_line(error))
        if (rounds := len(course.ends_s)) < self._run.n_rounds:
            why = f"it ended after {numbered(rounds, 'round')}"
            if most_s and course.end_s >= most_s:
                why = f"in {AT_MOST} times as long it got through {numbered(rounds, 'round')} only"
            return Counterfactual(change, why_not=why)
        return Counterfactual(change, course.ends_s[-1], course.lost)

    def _course(self, document: Document, title: str) -> _Course:
        with TemporaryDirectory() as top:
            todo, number = jobs(document, Path(top)), self._titles.index(title)
            if title == UNCHANGED:
                self._watch.begin([replace(todo[0], variant=name) for name in self._titles], 1)
            result = run_jobs(todo, self._options, watch=_OneOf(self._watch, number))[0]
            return _Course(result.of_rounds("end_s").tolist(), result.end_s, _lost(result))


def _lost(result: RunResult) -> float:
    lost = ~result.used & (result.client_rows["outcome"] != "unfinished")
    return float(lost.mean()) if len(lost) else 0.0


def _first_line(error: SimflError) -> str:
    return str(error).partition("\n")[0].removeprefix("scenario: ")
