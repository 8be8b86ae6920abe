"""The drawing of a chart of runs: a line per variant, its mean over seeds, and a band around it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.report.charts.curve_data import extent
from simfl.report.charts.curves import axis
from simfl.report.figures.looks import look
from simfl.report.measures import Measure, on_grid
from simfl.report.plot.canvas import WIDTHS, Canvas, frame
from simfl.report.plot.line_names import name_lines
from simfl.report.plot.measures import drawable, known, measures, option
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ANY, ENOUGH, Range, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = Literal["ci", "std", "range", "runs", "none"]
BANDS: tuple[str, ...] = get_args(Band)


def plot(
    results: Sequence[RunResult],
    x: str = "time",
    y: str | None = None,
    *,
    band: Band = "ci",
    width_mm: float = WIDTHS["column"],
    height_mm: float | None = None,
    style: str = "paper",
    log: Sequence[str] = (),
) -> "Figure":
    """Return a matplotlib figure: a line per variant, its mean over seeds.

    Args:
        results: runs, finished or not.
        x: one of `XS`, of `simfl.report.plot.measures`.
        y: one of `YS`, from there too, an error such as rmse, or a metric of the scenario's (None:
            the first that there is of accuracy, error, loss and, where nothing was trained, rounds,
            or how long these took).
        band: around the mean: from three seeds on the 95% interval of the mean (Student's t, from
            30 on BCa bootstrap), the sample standard deviation, from the lowest to the highest
            seed; or `runs`: each seed a line of its own, without a mean.
        width_mm: of the figure.
        height_mm: of the figure (None: as suits the width).
        style: one of `STYLES`, or one of matplotlib's own.
        log: which of "x" and "y" are logarithmic.

    Raises:
        InputError: there is no such measure, band, style, size or axis, or nothing to draw, or no
            room for it.
    """
    canvas = Canvas(width_mm, height_mm, style, log)
    for run in results:
        run.read()
    across, up = measures(results, x, y)
    known("band", band, {name: name for name in BANDS})
    drawn = drawable(results, across, up)
    with canvas.figure() as (figure, axes):
        for index, (name, runs) in enumerate(by_variant(drawn).items()):
            _lines(axes, name, runs, across, up, band, look(index))
        _frame(axes, drawn, across, up, canvas)
        if len(by_variant(drawn)) > 1:
            name_lines(figure, axes, grows=height_mm is None)
        return figure


def _lines(
    axes: "Axes",
    name: str,
    runs: Sequence[RunResult],
    x: Measure,
    y: Measure,
    band: str,
    look: Mapping[str, Any],
) -> None:
    """Draw a variant's mean over seeds with its band, or each of its runs.

    Args:
        axes: what is drawn on.
        name: of the variant.
        runs: a seed each; those that have never been at the same place are drawn singly.
        x: across.
        y: upwards.
        band: ci, std, range, runs (no mean either) or none.
        look: colour and dashes.
    """
    lines = on_grid(runs, x, y) if len(runs) > 1 and band != "runs" else None
    if lines is None:
        for place, run in enumerate(runs):
            finite = np.isfinite(y.of(run))
            label = name if not place else "_"  # matplotlib leaves such names out of the legend
            _line(axes, x.of(run)[finite], y.of(run)[finite], {"label": label, **look})
        return
    grid, values = lines
    _line(axes, grid, values.mean(axis=0), {"label": name, **look})
    if band != "none" and (band != "ci" or len(runs) >= ENOUGH):
        possible = (0.0, 1.0) if y.kind == "share" else ANY if values.min() < 0 else (0.0, np.inf)
        low, high = np.clip(_band(values, band, possible), *possible)
        axes.fill_between(grid, low, high, color=look["color"], alpha=0.18, linewidth=0)
        if len(grid) == 1:
            axes.vlines(grid, low, high, color=look["color"], clip_on=False)


def _line(axes: "Axes", x: Floats, y: Floats, look: Mapping[str, Any]) -> None:
    """Draw a line through `(n,)` points, which of a single one is a dot: it has no length."""
    single = len(x) == 1
    axes.plot(x, y, marker="o" if single else "", clip_on=not single, **look)  # it is at an edge


def _band(values: Floats, band: str, possible: Range) -> tuple[Floats, Floats]:
    """Return where the band of `(runs, points)` values begins and ends at each point."""
    if band == "range":
        return values.min(axis=0), values.max(axis=0)
    if band == "std":
        middle, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
        return middle - spread, middle + spread
    intervals = [mean_interval(column.tolist(), possible) for column in values.T]
    bounds = np.array([(i.low, i.high) for i in intervals if i is not None])
    return bounds[:, 0], bounds[:, 1]


def _frame(axes: "Axes", runs: Sequence[RunResult], x: Measure, y: Measure, canvas: Canvas) -> None:
    """Give the axes the ticks of the report's; across they end where the last line does."""
    for name, measure in (("x", x), ("y", y)):
        if name in canvas.log and not any((measure.of(run) > 0).any() for run in runs):
            raise InputError(
                f"{option('log')} {name}: none of the values of {measure.label} is above zero"
            )
    within = axes.dataLim  # bands, too
    across = axis(
        extent(x, runs, (), vertical=False) | {"high": float(within.x1)},
        canvas.steps,
        "x" in canvas.log,
    )
    drawn = extent(y, runs, (), vertical=True)
    ends = {"low": min(drawn["low"], within.y0), "high": max(drawn["high"], within.y1)}
    frame(axes, across, axis(drawn | ends, 5, "y" in canvas.log))
