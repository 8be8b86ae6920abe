"""What charts share: a picture with its words, one colour per variant, scales that suit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import Axis, Unit, linear, logarithmic
from simfl.report.charts.svg import LEFT, WIDTH, Plot
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult

Rows = Sequence[Sequence[str | float]]
"""A header and what stands below it."""
COLOURS, DASHES = 8, 6
ROW_PX = (7, 34), (24, 24), (math.inf, 15)
"""Up to so many variants, the height of each one's bar with its gap: of many, too, all stand on one
printed page, and their names can be read there."""
ROW = 32
"""Characters of a variant's name left of its bar."""
COLUMNS = 240
"""So many columns still have gaps between them."""
BROAD, NARROW = "MWmw%@…=+~<>&", "ijlIJtfr-.|/()[],:;' "
"""Letters that take more, and less, room than most."""
SPREAD = 12.0
"""Values that span more than such a ratio are drawn to a logarithmic scale."""


@dataclass(frozen=True)
class Drawing:
    """A chart with its words.

    Attributes:
        title: what it shows.
        about: how to read it.
        svg: the picture.
        legend: CSS class and name of what is drawn.
        data: what the page's script needs to draw it for other axes (None: it is what it is).
        table: the numbers in it, for readers who take them along: a header, and rows in base
            units (without rows: `data` has them).
    """

    title: str
    about: str
    svg: str
    legend: Sequence[tuple[str, str]] = ()
    data: dict[str, Any] | None = None
    table: Rows = ()


def colour(index: int) -> str:
    """Return the CSS classes of the variant at `index`, its own; beyond eight, lines are dashed."""
    dash, again = index // COLOURS % DASHES, index // (COLOURS * DASHES)
    return f"c{index % COLOURS}" + f" d{dash}" * (dash > 0) + f" again{again}" * (again > 0)


def legend(groups: Groups) -> list[tuple[str, str]]:
    """Return a legend of the variants, if there are several."""
    return [(colour(i), name) for i, name in enumerate(groups)] if len(groups) > 1 else []


def styled_runs(groups: Groups) -> list[tuple[str, str, RunResult]]:
    """Return CSS class, name and run; runs that are one of several seeds are drawn thin."""
    return [
        (
            f"line {colour(i)}" + (" thin" if len(runs) > 1 else ""),
            name if len(runs) == 1 else f"{name}, seed {run.seed}",
            run,
        )
        for i, (name, runs) in enumerate(groups.items())
        for run in runs
    ]


def by_name(values: Mapping[str, float], text: Callable[[float], str]) -> str:
    """Return what each variant has, in a few words: of many the least and the most.

    >>> by_name({"a": 1, "b": 2}, str), by_name({"a": 1, "b": 1}, str)
    ('a 1; b 2', '1')
    """
    told = {name: text(value) for name, value in values.items()}
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    if len(told) <= COLOURS:
        return "; ".join(f"{name} {words}" for name, words in told.items())
    least, most = min(values, key=lambda name: values[name]), max(values, key=lambda n: values[n])
    return f"{told[least]} ({least}) to {told[most]} ({most})"


def rounds_told(first: float, last: float) -> str:
    """Return which rounds stand in one column.

    >>> rounds_told(4, 4), rounds_told(4, 6)
    ('round 4', 'rounds 4 to 6, in the mean')
    """
    if first == last:
        return f"round {first:,.0f}"
    return f"rounds {first:,.0f} to {last:,.0f}, in the mean"


def mean(values: Sequence[float]) -> float:
    """Return the mean of those that are finite (NaN: none is)."""
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else math.nan


def scale(label: str, values: Floats, units: tuple[Unit, ...], share: bool = False) -> Axis:
    """Return an axis for `values` `(n,)`, logarithmic where they span orders of magnitude."""
    positive = values[np.isfinite(values) & (values > 0)]
    if len(positive) and positive.max() > SPREAD * positive.min():
        return logarithmic(
            label, float(positive.min()), float(positive.max()), units=units, share=share
        )
    top = float(positive.max()) * 1.05 if len(positive) else 1.0
    return linear(label, 0.0, top, units=units, share=share)


def _width(text: str) -> float:
    """Return how many pixels a row's name takes in a wide font (DejaVu Sans), hardly less."""

    def of_letter(letter: str) -> float:
        if letter in BROAD or east_asian_width(letter) in "WF":
            return 12.5
        return 5.2 if letter in NARROW else 9.6 if letter.isupper() else 7.9

    return sum(map(of_letter, text))


def bars(
    title: str,
    about: str,
    x: Axis,
    values: Mapping[str, Mapping[str, float]],
    css: Mapping[str, str],
    column: str,
    text: Callable[[float], str],
) -> Drawing:
    """Return stacked bars lying on their sides.

    Args:
        title: what they show.
        about: how to read them.
        x: axis of the values.
        values: per variant the length of each part.
        css: class of each part that is shown, in their order.
        column: what the lengths are called among numbers to be taken along, with their unit.
        text: a length in words.
    """
    names = list(values)
    y = Axis("", 0.0, float(len(names)), ())
    height = 80 + next(px for most, px in ROW_PX if len(names) <= most) * len(names)
    rows = [formats.shortened(name, ROW) for name in names]
    left = LEFT if len(names) == 1 else max(80, 20 + round(max(map(_width, rows))))
    plot = Plot(title, x, y, width=WIDTH + max(0, left - 180), height=height, left=left)
    table: list[Sequence[str | float]] = [("variant", "part", column)]
    for index, (name, lengths) in enumerate(values.items()):
        low, at = len(names) - index - 0.82, 0.0
        for part, classes in css.items():
            words = f"{part}: {text(lengths[part])}"
            words = words if len(names) == 1 else f"{name}, {words}"
            plot.box(at, at + lengths[part], low, low + 0.64, classes, words)
            at += lengths[part]
            table.append((name, part, lengths[part]))
    if len(names) > 1:
        plot.rows(rows)
        legend = [(classes, part) for part, classes in css.items()]
    else:
        [only] = values.values()
        legend = [(classes, f"{part}: {text(only[part])}") for part, classes in css.items()]
    return Drawing(title, about, str(plot), legend, table=table)
