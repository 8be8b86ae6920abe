"""What variants cost one way against another, or what they reach: `simfl plot --kind tradeoff`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.report.axes import UNITS, Axis, linear, logarithmic
from simfl.report.comparison.sections import head
from simfl.report.figures.looks import mark
from simfl.report.plot.canvas import WIDTHS, Canvas, frame
from simfl.report.plot.line_names import name_lines
from simfl.report.plot.measures import option
from simfl.runs.results.column import Column, target_text
from simfl.runs.results.tradeoff import Tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL, LARGE = 2.5, 5.5
"""Sizes of seeds and medians, beside how thick lines are."""
MARGIN = 0.06
"""Share of an axis beyond the last point."""


def draw(
    told: Tradeoff,
    *,
    width_mm: float = WIDTHS["column"],
    height_mm: float | None = None,
    style: str = "paper",
    log: Sequence[str] = (),
) -> "Figure":
    """Return a matplotlib figure: a point per seed, a large one per variant's median, their front.

    Args:
        told: what variants have, see `simfl.runs.results.tradeoff.tradeoff`.
        width_mm: of the figure.
        height_mm: of the figure (None: as suits the width).
        style: as `simfl.report.plot.plot` takes it.
        log: which of "x" and "y" are logarithmic.

    Raises:
        InputError: there is no such style, size or axis, or no run has both, or there is no room
            for it.
    """
    canvas = Canvas(width_mm, height_mm, style, log)
    if not any(own.complete.any() for own in told.variants.values()):
        labels = " and ".join(label_of(told, column) for column in told.columns)
        raise InputError(f"none of the runs has both: {labels}")
    with canvas.figure() as (figure, axes):
        _points(axes, told)
        _frame(axes, told, canvas)
        if len(axes.get_legend_handles_labels()[1]) > 1:
            name_lines(figure, axes, grows=height_mm is None)
        return figure


def _points(axes: "Axes", told: Tradeoff) -> None:
    """Draw the seeds of variants, their medians, and the front of these behind them."""
    import matplotlib as mpl

    thick = mpl.rcParams["lines.linewidth"]
    for index, (name, own) in enumerate(told.variants.items()):
        look = mark(index) | {"linestyle": "none", "markeredgewidth": 0, "clip_on": False}
        if not own.complete.any():
            continue
        if own.median is not None:
            axes.plot(*own.median[:, None], label=name, markersize=LARGE * thick, zorder=4, **look)
        if own.median is None or len(own.runs) > 1:
            label = name if own.median is None else "_"  # matplotlib names none of these
            size = SMALL * thick
            axes.plot(
                *own.points[own.complete].T,
                label=label,
                markersize=size,
                alpha=0.5,
                zorder=3,
                **look,
            )
    front = np.array([told.variants[name].median for name in told.front])
    if len(front) and (front != front[0]).any():
        # Between two points of it nobody is known to be better than the worse of the two.
        steps = "steps-post" if told.better[0] == "less" else "steps-pre"
        axes.plot(*front.T, color="0.6", drawstyle=steps, linestyle="--", zorder=2, label="front")


def _frame(axes: "Axes", told: Tradeoff, canvas: Canvas) -> None:
    """Give the axes the ticks of the report's, and the ends that `told` has, with a margin."""
    points = [own.points[own.complete] for own in told.variants.values()]
    medians = [own.median[None] for own in told.variants.values() if own.median is not None]
    places = np.concatenate([*points, *medians])
    for side, name in enumerate("xy"):
        if name in canvas.log and (places[:, side] <= 0).any():
            what = label_of(told, told.columns[side])
            raise InputError(f"{option('log')} {name}: not all values of {what} are above zero")
    across, up = (
        _axis(told, column, places[:, side], canvas.steps if name == "x" else 5, name in canvas.log)
        for side, (name, column) in enumerate(zip("xy", told.columns, strict=True))
    )
    frame(axes, across, up)


def _axis(told: Tradeoff, column: Column, values: Floats, steps: int, log: bool) -> Axis:
    """Return the axis that shows `values`: from 0 on, unless all lie in the upper half."""
    label, unit = label_of(told, column), column.metric.unit
    units, share = UNITS.get(unit, ()), unit == "share"
    low, high = float(values.min()), float(values.max())
    if log:
        return logarithmic(label, low, high, units=units, share=share)
    margin = MARGIN * (high - low or abs(high) or 1.0)
    bottom = 0.0 if 0 <= low <= high / 2 else low - margin
    top = min(high + margin, 1.0) if share else high + margin
    return linear(label, bottom, top, units=units, steps=steps, whole=unit == "count", share=share)


def label_of(told: Tradeoff, column: Column) -> str:
    """Return what a column is called where it stands alone."""
    target = "" if column.target is None else f" to {target_text(column.target)}"
    return f"{head(told.groups, column)}{target}"
