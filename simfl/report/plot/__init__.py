"""One chart of runs for a paper or a slide: what `simfl plot` draws, with matplotlib."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from simfl.core.arguments import called
from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.report.axes import Axis
from simfl.report.charts.curve_data import extent
from simfl.report.charts.curves import axis
from simfl.report.figures.looks import ALL, STYLES, look
from simfl.report.measures import Measure, on_grid
from simfl.report.plot.line_names import has_room, name_lines
from simfl.report.plot.measures import drawable, known, measures, option
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ANY, ENOUGH, Range, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = Literal["ci", "std", "range", "runs", "none"]
BANDS: tuple[str, ...] = get_args(Band)
MM = 1 / 25.4
WIDTHS = {"column": 85.0, "page": 175.0, "slide": 250.0}
"""Millimetres: a column and the page of most journals, and a slide."""
SMALLEST, LARGEST = 10, 2000
"""Millimetres of a picture's side."""
SHAPE = 0.68
"""Height by width."""


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
    if not set(log) <= {"x", "y"}:
        raise InputError(f"{option('log')}: expected x, y or xy, got {log!r}")
    for name, size in (("width", width_mm), ("height", height_mm)):
        if size is not None and not SMALLEST <= size <= LARGEST:
            side = called(f"--{name}", f"{name}_mm")
            raise InputError(f"{side}: expected {SMALLEST} to {LARGEST} mm, got {size:g} mm")
    for run in results:
        run.read()
    across, up = measures(results, x, y)
    known("band", band, {name: name for name in BANDS})
    drawn = drawable(results, across, up)
    height = SHAPE * width_mm if height_mm is None else height_mm
    with _style(style):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width_mm * MM, height * MM), layout="constrained")
        axes = figure.subplots()
        for index, (name, runs) in enumerate(by_variant(drawn).items()):
            _lines(axes, name, runs, across, up, band, look(index))
        _frame(axes, drawn, across, up, width_mm, log)
        if len(by_variant(drawn)) > 1:
            name_lines(figure, axes, grows=height_mm is None)
        if not has_room(figure):
            sides = " by ".join(f"{side / MM:.0f}" for side in figure.get_size_inches())
            raise InputError(
                f"a picture of {sides} mm has no room for its axes, with what is written around "
                f"them; give more {called('--width or --height', 'width_mm or height_mm')}"
            )
        return figure


@contextmanager
def _style(name: str) -> Iterator[None]:
    import matplotlib as mpl
    from matplotlib import style

    chosen = known("style", name, {**STYLES, **{own: own for own in style.available}})
    with mpl.rc_context(rc=ALL), style.context(chosen):  # type: ignore[arg-type]
        yield


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
            axes.plot(x.of(run)[finite], y.of(run)[finite], label=label, **look)
        return
    grid, values = lines
    axes.plot(grid, values.mean(axis=0), label=name, **look)
    if band != "none" and (band != "ci" or len(runs) >= ENOUGH):
        possible = (0.0, 1.0) if y.kind == "share" else ANY if values.min() < 0 else (0.0, np.inf)
        low, high = np.clip(_band(values, band, possible), *possible)
        axes.fill_between(grid, low, high, color=look["color"], alpha=0.18, linewidth=0)


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


def _frame(
    axes: "Axes",
    runs: Sequence[RunResult],
    x: Measure,
    y: Measure,
    width_mm: float,
    log: Sequence[str],
) -> None:
    """Give the axes the ticks of the report's; across they end where the last line does."""
    import matplotlib as mpl

    steps = max(3, round(width_mm / (2.1 * mpl.rcParams["font.size"])))
    for name, measure in (("x", x), ("y", y)):
        if name in log and not any((measure.of(run) > 0).any() for run in runs):
            raise InputError(
                f"{option('log')} {name}: none of the values of {measure.label} is above zero"
            )
    within = axes.dataLim  # bands, too
    across = axis(
        extent(x, runs, (), vertical=False) | {"high": float(within.x1)}, steps, "x" in log
    )
    drawn = extent(y, runs, (), vertical=True)
    ends = {"low": min(drawn["low"], within.y0), "high": max(drawn["high"], within.y1)}
    up = axis(drawn | ends, 5, "y" in log)
    for name, scale in (("x", across), ("y", up)):
        _ticks(axes, name, scale)


def _ticks(axes: "Axes", name: str, scale: Axis) -> None:
    from matplotlib.ticker import NullLocator

    kind, ends = "log" if scale.log else "linear", (scale.low, scale.high)
    axes.set(**{f"{name}scale": kind, f"{name}lim": ends, f"{name}label": scale.label})
    line = getattr(axes, f"{name}axis")
    line.set_ticks([value for value, _ in scale.ticks], [text for _, text in scale.ticks])
    line.set_minor_locator(NullLocator())
