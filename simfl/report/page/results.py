"""The table of results on a page: who reached what when, and what it cost; a row per variant."""

from collections import Counter
from dataclasses import replace

from simfl.report import formats
from simfl.report.charts.base import colour
from simfl.report.comparison.cells import cell_text
from simfl.report.comparison.legend import legend
from simfl.report.comparison.sections import head
from simfl.report.page.tables import Cell, Table, in_two, name_cell
from simfl.runs.results.column import Column, target_text
from simfl.runs.results.compare import compare
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.metric import (
    ACCURACY,
    BY_COST,
    BYTES,
    IDLE,
    NORMALISED,
    ROUNDS,
    TIME,
    WASTED,
)
from simfl.runs.results.several import have_accuracy

FITTING = 9
"""Columns that fit a page's width beside each other."""
FITTING_WORDS = 7
"""Those of which each may say of some seeds, in words, that they never reached the target."""


def results(groups: Groups) -> tuple[list[Table], list[str]]:
    """Return the table of results of variants, in several where it is wide, and how to read it."""
    comparison = compare(all_runs(groups))
    parts = _parts(comparison)
    seeded = any(len(runs) > 1 for runs in groups.values())
    tables = [_table(replace(comparison, columns=part), groups, seeded) for part in parts]
    reading = legend(replace(comparison, columns=[c for part in parts for c in part]))
    if any(cell.css == "best" for table in tables for row in table.rows for cell in row):
        reading.append("Green: better than every other variant by more than chance explains.")
    return tables, reading


def _parts(comparison: Comparison) -> list[list[Column]]:
    """Return the columns that a page shows, those of each of its tables together.

    Accuracy, errors and metrics, then what targets took, then what runs took as a whole.
    """
    runs = all_runs(comparison.groups)
    several = len({run.n_rounds for run in runs}) > 1
    wanted = [*([ROUNDS] if several else []), TIME, *BY_COST.values(), WASTED, IDLE, NORMALISED]
    own = [c for c in comparison.columns if c.metric.unit == "number"]  # of losses and metrics
    whole = [c for c in comparison.columns if c.target is None and c.metric in wanted]
    to = [c for c in comparison.columns if c.target is not None]
    first = [*([Column(ACCURACY)] if have_accuracy(runs) else []), *own, *to]
    if len(first) <= FITTING_WORDS:
        return _side_by_side(first, whole)
    rest = [c for c in to if c.metric in BY_COST.values() and c.metric is not BYTES]
    return [[c for c in first if c not in rest], *_side_by_side(rest, whole)]


def _side_by_side(left: list[Column], right: list[Column]) -> list[list[Column]]:
    """Return the columns of one table, or of two where those of one are too many for a page."""
    return [left, right] if left and len(left) + len(right) > FITTING else [[*left, *right]]


def _table(comparison: Comparison, groups: Groups, seeded: bool) -> Table:
    """Return a row for each variant, the comparison's columns beside each other."""
    above = Counter(map(_heading_above, comparison.columns))
    columns = [_cells(comparison, column) for column in comparison.columns]
    rows = [
        [
            name_cell(name, colour(index)),
            *([Cell(str(len(runs)), sort=len(runs))] if seeded else []),
            *(cells[index] for cells in columns),
        ]
        for index, (name, runs) in enumerate(groups.items())
    ]
    heads = ["variant", *(["seeds"] if seeded else [])]
    heads += [head_of(comparison, column) for column in comparison.columns]
    return Table(heads, rows, above=list(above.items()))


def head_of(comparison: Comparison, column: Column) -> str:
    """Return what a column is called beside words about the best of all rounds."""
    last = "last " if column.metric is ACCURACY and not column.target else ""
    return f"{last}{head(comparison.groups, column)}"


def _heading_above(column: Column) -> str:
    if column.target is not None:
        return f"to {target_text(column.target)}"
    return "" if column.metric is ACCURACY or column.metric.unit == "number" else "in all"


def _cells(comparison: Comparison, column: Column) -> list[Cell]:
    winner = _winner(comparison, column)
    cells = []
    for name in comparison.groups:
        figure = comparison.figure(name, column)
        written = cell_text(column, comparison.cell(name, column))
        css = "best" if name == winner else "none" if written == formats.NOTHING else ""
        cells.append(in_two(written, css, figure.middle))
    return cells


def _winner(comparison: Comparison, column: Column) -> str | None:
    """Return who is better than everybody else by more than chance explains, if anybody is."""
    if len(comparison.groups) < 2 or (column.target is None and column.metric is not ACCURACY):
        return None
    missing = {name: comparison.figure(name, column).missing for name in comparison.groups}
    surest = [name for name in missing if missing[name] == min(missing.values())]
    for name in surest:
        others = [other for other in comparison.groups if other != name]
        if all(comparison.beats(name, other, column) for other in others):
            return name
    return None
