"""Tables of a page, as data: the template writes them, escaped; the page's script sorts them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simfl.core.units import DIMENSIONS, parse_quantity
from simfl.errors import UnitError
from simfl.report import formats
from simfl.report.charts.base import mean

LONG = 30
"""Characters of a name that stay on one line."""


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: what it says.
        css: its class.
        sort: what its column is sorted by (None: the text).
        key: classes of a colour key before the text, if there is one.
        code: whether it is something to be copied.
        more: what is said after it, smaller.
    """

    text: str
    css: str = ""
    sort: float | None = None
    key: str = ""
    code: bool = False
    more: str = ""


@dataclass(frozen=True)
class Table:
    """A table; one too wide for the page scrolls.

    Attributes:
        heads: of the columns.
        rows: of cells.
        words: heads of the columns that hold text, beside the first.
        above: heads over neighbouring columns: text, and how many columns.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: Sequence[str] = ()
    above: Sequence[tuple[str, int]] = field(default=())


def leading_number(value: Any) -> float | None:
    """Return the number that a value of a scenario is or begins with, if it does: 30 of `30 s`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value.rstrip("%").split()[0])
        except (ValueError, IndexError):
            return None
    return None


def magnitude(value: Any) -> float | None:
    """Return by what a value of a scenario is sorted among others: 60 of `1 min`.

    None: it is no number, and has no unit.
    """
    number = leading_number(value)
    if number is None or not isinstance(value, str):
        return number
    for dimension in DIMENSIONS:
        try:
            return parse_quantity(value, dimension)
        except UnitError:
            continue
    return number


def name_cell(name: str, key: str = "") -> Cell:
    """Return the cell that names a row's variant; a long name may be broken into lines."""
    return Cell(name, "long" if len(name) > LONG else "", key=key)


def text_cell(text: str) -> Cell:
    """Return a cell whose text may be broken into lines, within a word only if it is very long."""
    longest = max(map(len, text.split()), default=0)
    return Cell(text, "wrap" if longest > LONG else "wrap words")


def in_two(written: str, css: str = "", sort: float | None = None) -> Cell:
    """Return a cell with what `comparison.cell_text` wrote, what is behind ± or a comma below."""
    value, sign, more = written.partition(" ± " if " ± " in written else ", ")
    return Cell(value, css, sort, more=f"{sign.strip(', ')} {more}".strip())


def mean_cell(values: Sequence[float], text: Callable[[float], str]) -> Cell:
    """Return a cell with the mean over seeds that have a value (NaN: it has none)."""
    known = sum(map(math.isfinite, values))
    if not known:
        return Cell(formats.NOTHING, "none", math.inf)
    coverage = f" ({known} of {len(values)})" if known < len(values) else ""
    return Cell(text(mean(values)) + coverage, sort=mean(values))
