"""Whose last models are short of a target that was reached, in words."""

import math
from collections.abc import Sequence

import numpy as np

from simfl.core.target import metric_of
from simfl.core.types import Floats
from simfl.report.comparison.cells import TEXT
from simfl.report.page.answer.best import named
from simfl.runs.results.column import target_text
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult

SHARE = 0.01
"""Of a target that is no accuracy a last model may be short by this much of it."""


def relapses(groups: Groups, target: float) -> list[str]:
    """Say which of `groups` were at `target`, and no longer are (empty: none of them).

    Models come and go about a target: one is short of it again only by more than an evaluation can
    tell (see `_tolerance`).
    """
    told = []
    for name, runs in groups.items():
        ended = [run for run in runs if run.finished and run.reached(target)]
        short = [run for run in ended if not _is_there(run, target)]
        if not short:
            continue
        seeds = f"with {len(short)} of {len(runs)} seeds"
        what = f"({_last(short, target)})" if len(short) == len(runs) else seeds
        if len(groups) == 1:
            return [f"Its last model is short of {target_text(target)} again {what}."]
        told.append(f"{name} {what}")
    again = f"Short of {target_text(target)} again at the end"
    return [f"{again}: {named(told, len(groups))}."] if told else []


def _judged(run: RunResult, target: float) -> Floats:
    """Return `(evaluations,)` what rounds were judged at, of what `target` is a value of."""
    judged = run.judged_by(metric_of(target))
    return judged[~np.isnan(judged)]


def _is_there(run: RunResult, target: float) -> bool:
    """Whether the last model that was judged is as good as `target`, or hardly worse."""
    last, tolerance = _judged(run, target)[-1:], _tolerance(run, target)
    return any(run.criteria.at(target, last + by).all() for by in (0.0, tolerance, -tolerance))


def _tolerance(run: RunResult, target: float) -> float:
    """Return by how much a model may be short of `target` that is not said to be.

    Of an accuracy a standard error of it, on as many samples as models are judged on: 0.46
    percentage points of 70% on 10,000.  Of errors and metrics, whose samples' spread is not
    recorded, `SHARE` of the target, and so where the number of samples is not known.
    """
    samples, value = run.provenance.get("judged_on"), float(target)
    if metric_of(target) != "accuracy" or not samples:
        return SHARE * abs(value)
    return math.sqrt(value * (1 - value) / samples)


def _last(runs: Sequence[RunResult], target: float) -> str:
    """Return what the last models come to, in the mean over `runs`."""
    mean = float(np.mean([_judged(run, target)[-1] for run in runs]))
    return TEXT["share" if metric_of(target) == "accuracy" else "number"](mean)
