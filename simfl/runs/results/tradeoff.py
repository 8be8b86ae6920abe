"""Two things that are measured of variants, one against the other, and who is best at both.

A variant is at the front (Pareto's) if no other has a median as good in both and better in one.
Of medians, since seeds that never reached a target count in them, as the worst.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.components.metrics.base import BETTER, Better
from simfl.core.arguments import called, require_kind
from simfl.core.types import Flags, Floats
from simfl.errors import InputError
from simfl.runs.results.column import Column, target_in
from simfl.runs.results.compare import compare
from simfl.runs.results.grouping import Groups
from simfl.runs.results.metric import Metric
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_judged, untrained
from simfl.scenario.criteria import better_unknown


@dataclass(frozen=True)
class Measured:
    """One variant's runs.

    Attributes:
        runs: a seed each.
        points: `(runs, 2)` across and up (NaN: it has none).
        median: `(2,)` over all of `runs`, one that lacks it counting as the worst (None: half of
            the seeds or more lack one of the two, as where they never reached a target).
    """

    runs: Sequence[RunResult]
    points: Floats
    median: Floats | None

    @property
    def complete(self) -> Flags:
        """`(runs,)` which of them have both."""
        return np.isfinite(self.points[:, 0]) & np.isfinite(self.points[:, 1])


@dataclass(frozen=True)
class Tradeoff:
    """What variants have of two things.

    Attributes:
        columns: what is across, and what up.
        better: whether more or less of each is better.
        variants: by name.
        front: the names of those at the front, from the left to the right.
    """

    columns: tuple[Column, Column]
    better: tuple[Better, Better]
    variants: Mapping[str, Measured]
    front: Sequence[str]

    @property
    def groups(self) -> Groups:
        """The runs, by variant."""
        return {name: own.runs for name, own in self.variants.items()}


def tradeoff(results: Sequence[RunResult], x: str, y: str) -> Tradeoff:
    """Return what variants have of two things.

    Args:
        results: runs, finished or not.
        x: a column of a comparison, by its name in tables for programs: ``time_s_to_60%``.
        y: another.

    Raises:
        InputError: there is no such column, or it is not known whether more or less is better.
    """
    columns = (_column(results, "x", x), _column(results, "y", y))
    better = (_better(columns[0].metric, results), _better(columns[1].metric, results))
    groups = compare(results, []).groups
    variants = {name: _measured(runs, columns, better) for name, runs in groups.items()}
    signs = np.array([1.0 if side == "less" else -1.0 for side in better])
    costs = {name: signs * own.median for name, own in variants.items() if own.median is not None}
    front = [name for name, own in costs.items() if not _is_beaten(own, list(costs.values()))]
    return Tradeoff(
        columns, better, variants, sorted(front, key=lambda name: signs[0] * costs[name][0])
    )


def _column(results: Sequence[RunResult], argument: str, key: str) -> Column:
    """Return the column of that `key`, whose target need not be one of the scenarios'."""
    what = called(f"--{argument}", argument)
    require_kind(what, key, str, "a column of `simfl compare`, such as 'time_s_to_60%'")
    target = target_in(key.replace(" ", "_"))
    try:
        if target and untrained(results):
            raise InputError(f"{key!r}: only time was simulated, so no target was reached")
        [column] = compare(results, [target] if target else None).only([key]).columns
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    return column


def _better(metric: Metric, results: Sequence[RunResult]) -> Better:
    """Return whether more or less of it is better: of what is no judgement of models, less.

    Raises:
        InputError: that is not known.
    """
    if not metric.judges:
        return "less"
    better = "more" if metric.unit == "share" else all_judged(results).get(metric.name, "")
    if better not in BETTER:
        raise InputError(better_unknown(metric.name))
    return better


def _measured(
    runs: Sequence[RunResult], columns: Sequence[Column], better: Sequence[Better]
) -> Measured:
    """Return what the seeds of a variant have, and the median of each of the two."""
    values = np.array([[_value(run, column) for column in columns] for run in runs])
    worst = np.array([math.inf if side == "less" else -math.inf for side in better])
    middle = np.median(np.where(np.isnan(values), worst, values), axis=0)
    return Measured(runs, values, middle if np.isfinite(middle).all() else None)


def _value(run: RunResult, column: Column) -> float:
    value = column.metric.until(run, column.target)
    return math.nan if value is None else value


def _is_beaten(own: Floats, costs: Sequence[Floats]) -> bool:
    """Whether one of `costs` is nowhere above `(2,)` of one variant, and somewhere below."""
    return any((other <= own).all() and (other < own).any() for other in costs)
