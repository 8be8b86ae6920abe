"""What a plot can show of runs, across and upwards, and which runs have it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simfl.core.arguments import called, require_kind
from simfl.core.costs import SPENT
from simfl.errors import InputError, nearest
from simfl.report import formats
from simfl.report.measures import (
    ACCURACY,
    COSTS,
    DONE,
    DURATION,
    GEMD,
    LOSS,
    ROUNDS,
    TIME,
    Measure,
    of_judged,
)
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_errors, all_metrics

XS: Mapping[str, Measure] = {"time": TIME, "rounds": ROUNDS, **COSTS}
YS: Mapping[str, Measure] = {
    "accuracy": ACCURACY, "loss": LOSS, "duration": DURATION, "gemd": GEMD,
    "rounds": DONE, **COSTS,
}  # fmt: skip


def measures(results: Sequence[RunResult], x: str, y: str | None) -> tuple[Measure, Measure]:
    """Return what is drawn across and up; where no `y` is given, the first that there is."""
    errors = {name: of_judged(name) for name in all_errors(results)}
    own = {name: of_judged(name) for name in all_metrics(results)}
    ys = {**YS, **errors, **own}
    if y is None:
        usual = ("accuracy", *errors, "loss", "duration" if x == "rounds" else "rounds")
        there = (name for name in usual if any(shows(run, ys[name]) for run in results))
        y = next(there, usual[0])
    return known("x", x, XS), known("y", y, ys)


def drawable(results: Sequence[RunResult], x: Measure, y: Measure) -> list[RunResult]:
    """Return the runs that have something to draw.

    Raises:
        InputError: none has, or what they have can't be on one axis.
    """
    drawn = [run for run in results if shows(run, y) and shows(run, x)]
    if not drawn:
        known = [cost.known for cost in SPENT if COSTS[cost.name] in (x, y) and cost.known]
        cure = f"; it is known {known[-1]}" if known else ""
        raise InputError(f"none of the runs has any {y.label} over {x.label}{cure}")
    losses = sorted({run.component("training", "loss") for run in drawn})
    if y is LOSS and len(losses) > 1:
        raise InputError(
            f"the runs have different losses ({formats.listed(losses)}), and one axis: "
            f"{called('name fewer run folders', 'draw fewer runs')}, or another {option('y')}"
        )
    return drawn


def option(argument: str) -> str:
    """Return what messages call an argument of `plot`: as an option where a command is given."""
    return called(f"--{argument}", argument)


def known(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    """Return the choice of that `name`.

    Raises:
        InputError: the argument `what` can't be that; names the nearest.
    """
    require_kind(option(what), name, str, f"a name such as {next(iter(choices))!r}")
    if name not in choices:
        raise InputError(f"{option(what)}: unknown {name!r}{nearest(name, choices)}")
    return choices[name]


def shows(run: RunResult, measure: Measure) -> bool:
    """Return whether a run has any of what is measured."""
    return bool(np.isfinite(measure.of(run)).any())
