"""What a comparison says, in words: sections of rows for people."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from simfl.report import formats
from simfl.report.axes import UNITS, unit_for
from simfl.report.comparison.cells import cell_text
from simfl.runs.results.column import Column, target_text
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.several import judged_on

JUDGED_ON = {"train": "training ", "clients": "clients' "}
"""By `evaluation.on`, what comes before the name of an accuracy that is not of test samples."""


@dataclass(frozen=True)
class Section:
    """A part of a comparison that fits a page: a row per variant.

    Attributes:
        title: what it is about.
        heads: of its columns, the variant's first.
        rows: of cells.
    """

    title: str
    heads: list[str]
    rows: list[list[str]]

    @property
    def columns(self) -> list[list[str]]:
        """Its columns, the head of each before its cells."""
        return [list(column) for column in zip(self.heads, *self.rows, strict=True)]


def sections(comparison: Comparison, *, one_unit: bool = False) -> list[Section]:
    """Return the parts of a comparison: the whole runs, each target, each again as ratios.

    Args:
        comparison: what is told.
        one_unit: whether the numbers of a column are all told in the unit that its head names, as
            papers do; else each in the one that suits it.
    """
    parts: dict[tuple[Any, ...], list[Column]] = {}
    for column in comparison.columns:
        parts.setdefault((column.versus, column.target, column.divided), []).append(column)
    return [_section(comparison, columns, one_unit) for columns in parts.values()]


def _section(comparison: Comparison, columns: list[Column], one_unit: bool) -> Section:
    """Return the part of a comparison with `columns`, all of one target and compared in one way."""
    first, seeded = columns[0], any(len(runs) > 1 for runs in comparison.groups.values())
    told = [_scale(comparison, column, one_unit) for column in columns]
    rows = []
    for variant, runs in comparison.groups.items():
        cells = [
            formats.NOTHING
            if against_itself(variant, column)
            else cell_text(column, comparison.cell(variant, column), text)
            for column, (_, text) in zip(columns, told, strict=True)
        ]
        rows.append([variant, *([str(len(runs))] if seeded else []), *cells])
    names = [
        head(comparison.groups, column) + unit
        for column, (unit, _) in zip(columns, told, strict=True)
    ]
    heads = ["variant", *(["seeds"] if seeded else []), *names]
    title = "whole runs" if first.target is None else f"to {target_text(first.target)}"
    if first.divided and first.target is None:
        title = "per round"
    if first.versus is not None:
        title += (
            f", {first.versus} ÷ each" if first.divided else f", difference from {first.versus}"
        )
    return Section(title, heads, rows)


def against_itself(variant: str, column: Column) -> bool:
    """Whether a cell would compare a variant with itself, of which there is nothing to say."""
    return column.versus == variant and column.ideal is None


def _scale(
    comparison: Comparison, column: Column, one_unit: bool
) -> tuple[str, Callable[[float], str] | None]:
    """Return what a column's head says of its unit, and how its numbers are written.

    One unit for all is that of the figure in the middle; the least has three digits.  None: each
    number in the unit that suits it.
    """
    units = UNITS.get(column.metric.unit, ())
    if not one_unit or column.versus is not None or not units:
        return "", None
    middles = (comparison.figure(variant, column).middle for variant in comparison.groups)
    if not (known := sorted(middle for middle in middles if 0 < middle < math.inf)):
        return "", None
    symbol, size = unit_for(units, median(known))
    digits = min(max(2 - math.floor(math.log10(known[0] / size)), 0), 6)
    return f" ({symbol})", lambda value: f"{value / size:,.{digits}f}"


def head(groups: Groups, column: Column) -> str:
    """Return what a column of a comparison of `groups` is called."""
    if column.ideal is not None:
        return "relative improvement"
    if column.counted:
        return f"sooner than {column.versus}"
    judged = {*map(judged_on, all_runs(groups))}
    accuracy = column.metric.judges and column.metric.unit == "share"
    of = JUDGED_ON.get(judged.pop(), "") if accuracy and len(judged) == 1 else ""
    return f"{of}{name_of(column)}"


def name_of(column: Column) -> str:
    """Return what a column is called; losses and metrics bring names of their own."""
    return column.metric.title or formats.metric(column.metric.name)
