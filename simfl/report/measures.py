"""What an axis can show of a run's rounds, and runs of one variant brought to the same places."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simfl.core.costs import SPENT, Cost
from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import ENERGY_UNITS, TIME_UNITS, UNITS, Unit
from simfl.runs.results.costs import READINGS
from simfl.runs.results.result import RunResult

Kind = Literal["share", "count", "number"]
GRID = 160
"""Points of a mean over seeds."""


@dataclass(frozen=True)
class Measure:
    """Something of a run's rounds that an axis can show.

    Attributes:
        key: names it.
        label: what an axis says.
        of: `(points,)` its values: of round 0, where there is one (NaN: it says nothing of that),
            and of all others.
        units: it is told in.
        kind: how it is written.
    """

    key: str
    label: str
    of: Callable[[RunResult], Floats]
    units: tuple[Unit, ...] = ()
    kind: Kind = "number"

    @property
    def column(self) -> str:
        """What it is called in tables, with its unit: as in the files of a run."""
        return self.key + {TIME_UNITS: "_s", ENERGY_UNITS: "_j"}.get(self.units, "")


def _from_start(run: RunResult, start: float, rounds: Floats) -> Floats:
    """Return `(points,)`: of round 0, where there is one, `start`; then those of `(rounds,)`."""
    values: Floats = rounds.astype(np.float64)
    return np.append(start, values) if run.initial_evaluation else values


TIME = Measure(
    "time", "virtual time", lambda r: _from_start(r, 0.0, r.of_rounds("end_s")), TIME_UNITS
)
ROUNDS = Measure(
    "round", "round", lambda r: _from_start(r, 0.0, r.of_rounds("round")), kind="count"
)


def _of_cost(cost: Cost) -> Measure:
    """Return what rounds have spent; runs that don't tell it have NaN."""
    reading = READINGS[cost.column]

    def of(run: RunResult) -> Floats:
        return _from_start(run, reading.at_start(run), reading.by_round(run))

    return Measure(cost.name, cost.axis, of, UNITS.get(cost.unit, ()))


COSTS: Mapping[str, Measure] = {cost.name: _of_cost(cost) for cost in SPENT}
"""What is summed up, by name."""
BYTES = COSTS["bytes"]
GEMD = Measure("gemd", "GEMD", lambda r: _from_start(r, math.nan, r.of_rounds("gemd")))
DURATION = Measure(
    "duration",
    "duration",
    lambda r: _from_start(r, math.nan, r.of_rounds("end_s") - r.of_rounds("start_s")),
    TIME_UNITS,
)
DONE = Measure("done", "rounds done", ROUNDS.of, kind="count")


def _of_models(name: str, label: str, kind: Kind = "number") -> Measure:
    """Return what evaluations say of models; runs that they don't say it of have NaN."""
    return Measure(
        name, label, lambda r: _from_start(r, r.initially(name), r.judged_by(name)), kind=kind
    )


ACCURACY = _of_models("accuracy", "accuracy", "share")
LOSS = _of_models("loss", "loss")


def of_judged(name: str) -> Measure:
    """Return what rounds say of an error in place of an accuracy, or of a scenario's own metric."""
    return _of_models(name, formats.metric(name))


def on_grid(runs: Sequence[RunResult], x: Measure, y: Measure) -> tuple[Floats, Floats] | None:
    """Return `(points,)` places along `x` where every run has been, and `(runs, points)` their `y`.

    Between two rounds values change evenly.  None: there is no such place.
    """
    lines = []
    for run in runs:
        finite = np.isfinite(y.of(run))
        if not finite.any():
            return None
        lines.append((x.of(run)[finite], y.of(run)[finite]))
    first, last = max(at[0] for at, _ in lines), min(at[-1] for at, _ in lines)
    grid = np.unique(np.concatenate([at for at, _ in lines]))
    grid = grid[(grid >= first) & (grid <= last)]
    if len(grid) > GRID:
        grid = np.linspace(first, last, GRID)
    if not len(grid):
        return None
    return grid, np.array([np.interp(grid, at, value) for at, value in lines])
