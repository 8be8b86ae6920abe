"""What a sweep varied: a row per point, a column per factor; and the numbers of a pivot table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simfl.report import formats
from simfl.report.axes import UNITS
from simfl.report.comparison.cells import cell_text
from simfl.report.page.results import head_of
from simfl.report.page.tables import Cell, Table, in_two, magnitude
from simfl.runs.results.column import Column, target_text
from simfl.runs.results.compare import compare
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.metric import BYTES, ENERGY, EPSILONS, TIME
from simfl.runs.results.result import RunResult
from simfl.scenario.language.place import as_written


@dataclass(frozen=True)
class Factors:
    """The factors of some runs.

    Attributes:
        table: a row per variant.
        data: what the page's script needs to turn it into a table of any two factors.
    """

    table: Table
    data: dict[str, Any]


def factors(groups: Groups) -> Factors | None:
    """Return what was varied and what came of it; None: it is no sweep."""
    runs = all_runs(groups)
    by_run = [{path: as_written(value) for path, value in run.factors.items()} for run in runs]
    paths = dict.fromkeys(path for own in by_run for path in own)
    levels = {
        path: list(dict.fromkeys(own.get(path, formats.NOTHING) for own in by_run))
        for path in paths
    }
    levels = {path: sorted(names, key=_order) for path, names in levels.items() if len(names) > 1}
    if not levels:
        return None
    comparison = compare(runs)
    columns = _columns(comparison)
    rows = [
        {
            "at": [names.index(own.get(path, formats.NOTHING)) for path, names in levels.items()],
            "values": [_value(run, column) for column in columns],
            "open": not run.finished,
        }
        for run, own in zip(runs, by_run, strict=True)
    ]
    measures = [
        {
            "label": _head(comparison, column),
            "target": column.target is not None,
            "kind": "share" if column.metric.unit == "share" else "number",
            "units": UNITS.get(column.metric.unit, ()),
        }
        for column in columns
    ]
    listed = [{"name": path, "levels": names} for path, names in levels.items()]
    data = {"factors": listed, "measures": measures, "rows": rows}
    return Factors(_table(comparison, columns, levels), data)


def _order(level: str) -> tuple[bool, float, str]:
    """Put levels that are numbers first, by size; what is no number by name."""
    number = magnitude(level)
    return number is None, number or 0.0, level


def _columns(comparison: Comparison) -> list[Column]:
    """Return what is worth a look: what judges a model, costs to a target and in all.

    The target is the highest that somebody reached, or of several that nobody did, the highest.
    """
    asked = (TIME, BYTES, ENERGY, EPSILONS[0])
    costs = [metric for metric in asked if Column(metric) in comparison.columns]
    runs = all_runs(comparison.groups)
    met = [t for t in comparison.targets if any(run.reached(t) for run in runs)]
    hardest = (met or comparison.targets)[-1:]
    to = [Column(metric, target) for target in hardest for metric in costs]
    whole = [column for column in comparison.columns if column.target is None]
    return [*(column for column in whole if column.metric.judges), *to, *map(Column, costs)]


def _head(comparison: Comparison, column: Column) -> str:
    name = head_of(comparison, column)
    return name if column.target is None else f"{name} to {target_text(column.target)}"


def _value(run: RunResult, column: Column) -> float | None:
    value = column.metric.until(run, column.target)
    return float(value) if value is not None and math.isfinite(value) else None


def _table(
    comparison: Comparison, columns: Sequence[Column], levels: dict[str, list[str]]
) -> Table:
    rows = []
    for name, runs in comparison.groups.items():
        own = {path: as_written(value) for path, value in runs[0].factors.items()}
        cells = [
            Cell(level, sort=magnitude(level))
            for level in (own.get(path, formats.NOTHING) for path in levels)
        ]
        for column in columns:
            figure = comparison.figure(name, column)
            text = cell_text(column, comparison.cell(name, column))
            cells.append(in_two(text, sort=figure.middle))
        rows.append([*cells, Cell(str(len(runs)), sort=len(runs))])
    heads = [_head(comparison, column) for column in columns]
    return Table([*levels, *heads, "seeds"], rows)
