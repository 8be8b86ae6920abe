"""The table of results on a page: who reached what when, and what it cost; a row per variant."""

import math
from dataclasses import dataclass

from simfl.report import formats
from simfl.report.charts.base import Groups, colour
from simfl.report.comparison import NAMES, TEXT, figure_text
from simfl.runs.compare import (
    ACCURACY,
    BYTES,
    ENERGY,
    NORMALISED,
    ROUNDS,
    TIME,
    WASTED,
    Column,
    Comparison,
    compare,
)


@dataclass(frozen=True)
class ResultCell:
    """A cell of the table.

    Attributes:
        text: what it says.
        sort: what it is sorted by.
        best: whether it has the best mean of its column and nobody comes close by chance.
    """

    text: str
    sort: float
    best: bool = False


@dataclass(frozen=True)
class Results:
    """The table.

    Attributes:
        heads: above neighbouring columns: text, and how many columns.
        columns: names of the columns.
        rows: by variant: colour, how many seeds, cells.
        seeded: whether any variant has several seeds.
        normalised: whether there is a column of times by the deadline.
    """

    heads: list[tuple[str, int]]
    columns: list[str]
    rows: list[tuple[str, str, int, list[ResultCell]]]
    seeded: bool
    normalised: bool


def results(groups: Groups) -> Results:
    """Return the table of results of variants."""
    comparison = compare([run for runs in groups.values() for run in runs])
    evaluated = any(len(run.evaluated) for runs in groups.values() for run in runs)
    wanted = [ROUNDS, TIME, BYTES, WASTED, ENERGY, NORMALISED]
    whole = [c for c in comparison.columns if c.target is None and c.metric in wanted]
    to = [c for c in comparison.columns if c.target is not None and c.metric is not ENERGY]
    columns = [*([Column(ACCURACY), *to] if evaluated else []), *whole]
    heads: dict[str, int] = {}
    for column in columns:
        head = "in all" if column.target is None else f"to {formats.target(column.target)}"
        head = "" if column.metric is ACCURACY else head
        heads[head] = heads.get(head, 0) + 1
    by_column = [_cells(comparison, column) for column in columns]
    rows = [
        (name, colour(index), len(runs), [cells[index] for cells in by_column])
        for index, (name, runs) in enumerate(groups.items())
    ]
    seeded = any(len(runs) > 1 for runs in groups.values())
    names = [NAMES[column.metric.name] for column in columns]
    return Results(list(heads.items()), names, rows, seeded, Column(NORMALISED) in columns)


def _cells(comparison: Comparison, column: Column) -> list[ResultCell]:
    text, winner = TEXT[column.metric.unit], _winner(comparison, column)
    cells = []
    for name in comparison.groups:
        figure = comparison.figure(name, column)
        told = figure_text(figure, text, target=column.target is not None)
        cells.append(ResultCell(told, figure.middle, name == winner))
    return cells


def _winner(comparison: Comparison, column: Column) -> str | None:
    """Return who is better than everybody else by more than chance explains, if anybody is."""
    if len(comparison.groups) < 2 or (column.target is None and column.metric is not ACCURACY):
        return None
    sign = -1 if column.target is None else 1
    middles = {name: sign * comparison.figure(name, column).middle for name in comparison.groups}
    best = min(middles, key=lambda name: (math.isnan(middles[name]), middles[name]))
    others = [name for name in comparison.groups if name != best]
    return best if all(comparison.differ(best, name, column) for name in others) else None
