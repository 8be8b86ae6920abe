"""Charts of learning: accuracy against what it cost."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import BYTE_UNITS, TIME_UNITS, Unit, linear
from simfl.report.charts.base import Drawing, Groups, each, legend
from simfl.report.svg import WIDE, WIDTH, Plot
from simfl.runs.result import RunResult

DOTS = 80
"""Lines with more points have no dots on them."""


@dataclass(frozen=True)
class Cost:
    """What accuracy is drawn against."""

    title: str
    label: str
    units: tuple[Unit, ...]
    of: Callable[[RunResult], Floats]
    text: Callable[[float], str]


TIME = Cost(
    "virtual time", "virtual time", TIME_UNITS, lambda r: r.column("end_s"), formats.duration
)
ROUNDS = Cost("rounds", "round", (), lambda r: r.column("round"), lambda n: f"round {n:.0f}")
BYTES = Cost("bytes moved", "bytes moved", BYTE_UNITS, lambda r: r.moved, formats.size)


def accuracy(groups: Groups, cost: Cost, width: int = WIDTH) -> Drawing | None:
    """Return accuracy against what it cost; None if nothing was evaluated."""
    runs = [run for _, _, run in each(groups) if len(run.evaluated)]
    if not runs:
        return None
    most = max(float(cost.of(run)[-1]) for run in runs)
    best = max(run.best_accuracy for run in runs)
    targets = sorted({target for run in runs for target in run.targets})
    top = min(1.0, max([best, *targets]) * 1.06)
    y = linear("accuracy", 0.0, top, text=lambda v: formats.percent(v, 0))
    steps = 6 if width == WIDTH else 12
    x = linear(cost.label, 0.0, most, units=cost.units, steps=steps)
    plot = Plot(f"accuracy over {cost.title}", x, y, width=width)
    for target in targets:
        plot.across(target, formats.target(target))
    for css, name, run in each(groups):
        chosen = run.evaluated
        xs, ys = cost.of(run)[chosen], run.column("accuracy")[chosen]
        plot.line(xs, ys, css, name)
        if len(chosen) <= DOTS:
            tips = (
                f"{name}: {formats.percent(y)} at {cost.text(x)}"
                for x, y in zip(xs, ys, strict=True)
            )
            plot.dots(xs, ys, css.replace("line", "dot"), tips)
    about = "One point per evaluation; dashed lines are the targets." if targets else ""
    return Drawing(f"Accuracy over {cost.title}", about, str(plot), legend(groups))


def progress(groups: Groups) -> Drawing | None:
    """Return rounds done over virtual time: what a run without training has to show."""
    runs = [run for _, _, run in each(groups) if run.n_rounds]
    if not runs:
        return None
    last = max(run.end_s for run in runs)
    x = linear("virtual time", 0.0, last, units=TIME_UNITS, steps=12)
    y = linear("rounds done", 0.0, max(run.n_rounds for run in runs))
    plot = Plot("rounds over time", x, y, width=WIDE)
    for css, name, run in each(groups):
        ends = np.concatenate([[0.0], run.column("end_s")])
        plot.line(ends, np.arange(len(ends), dtype=np.float64), css, name)
    return Drawing("Rounds over virtual time", "Steeper is faster.", str(plot), legend(groups))
