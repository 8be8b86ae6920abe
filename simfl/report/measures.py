"""What an axis can show of a run's rounds, and runs of one variant brought to the same places."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import BYTE_UNITS, ENERGY_UNITS, TIME_UNITS, Unit
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
        of: `(rounds,)` its values.
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


TIME = Measure("time", "virtual time", lambda run: run.of_rounds("end_s"), TIME_UNITS)
ROUNDS = Measure("round", "round", lambda r: r.of_rounds("round").astype(np.float64), kind="count")
BYTES = Measure("bytes", "bytes moved", lambda run: run.moved_bytes, BYTE_UNITS)
ENERGY = Measure("energy", "energy at work", lambda run: run.spent_j, ENERGY_UNITS)
ACCURACY = Measure("accuracy", "accuracy", lambda run: run.of_rounds("accuracy"), kind="share")
LOSS = Measure("loss", "loss", lambda run: run.of_rounds("loss"))
GEMD = Measure("gemd", "GEMD", lambda run: run.of_rounds("gemd"))
DURATION = Measure(
    "duration", "duration", lambda r: r.of_rounds("end_s") - r.of_rounds("start_s"), TIME_UNITS
)
DONE = Measure("done", "rounds done", ROUNDS.of, kind="count")


def of_error(name: str) -> Measure:
    """Return what rounds say of the error that losses without an accuracy have."""
    return Measure(name, formats.metric(name), lambda run: run.errors(name))


def of_metric(name: str) -> Measure:
    """Return what a scenario's own metric says of rounds; runs without it say nothing."""

    def column(run: RunResult) -> Floats:
        return run.of_rounds(name) if name in run.round_rows else np.full(run.n_rounds, np.nan)

    return Measure(name, formats.metric(name), column)


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
