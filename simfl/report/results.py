"""The table of results: who reached what when, and what it cost; a row per variant."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from simfl.report import formats
from simfl.report.charts.base import Groups, colour, mean
from simfl.report.html import mean_cell, table_of
from simfl.report.runs import RunData
from simfl.report.words import all_targets

NORMALISED = "÷ deadline"
_ABOUT_NORMALISED = (
    "time to the last arrival of a round by its deadline, in the mean of all rounds."
)


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        head: above it; neighbours with the same head share it.
        name: below the head, where it is shared.
        value: of a run (NaN: it has none).
        text: writes a value.
        best: which value wins, if any does.
    """

    head: str
    name: str
    value: Callable[[RunData], float]
    text: Callable[[float], str]
    best: Literal["low", "high"] | None = None


def results(groups: Groups) -> str:
    """Return the table as HTML: means and deviations over seeds, the best of a column marked."""
    columns = _columns(groups)
    seeds = any(len(runs) > 1 for runs in groups.values())
    rows = [
        [f'<td><i class="key {colour(index)}"></i>{escape(name)}</td>']
        + ([f"<td>{len(runs)}</td>"] if seeds else [])
        for index, (name, runs) in enumerate(groups.items())
    ]
    for column in columns:
        found = [[column.value(run) for run in runs] for runs in groups.values()]
        winners = _winners(found, column.best)
        for index, (row, values) in enumerate(zip(rows, found, strict=True)):
            row.append(mean_cell(values, column.text, best=index in winners))
    table = table_of(_head(columns, ["variant", "seeds"] if seeds else ["variant"]), rows)
    if any(column.name == NORMALISED for column in columns):
        table += f'\n<p class="about">{NORMALISED}: {_ABOUT_NORMALISED}</p>'
    return table


def _head(columns: Sequence[Column], first: Sequence[str]) -> str:
    shared = Counter(column.head for column in columns)
    above = [f'<th rowspan="2">{escape(name)}</th>' for name in first]
    for head, many in shared.items():
        css = ' rowspan="2"' if many == 1 else f' class="span" colspan="{many}"'
        above.append(f"<th{css}>{escape(head)}</th>")
    below = [f"<th>{escape(c.name)}</th>" for c in columns if shared[c.head] > 1]
    return f"<tr>{''.join(above)}</tr><tr>{''.join(below)}</tr>"


def _winners(found: Sequence[Sequence[float]], best: str | None) -> set[int]:
    """Return who has the best mean among those where every seed has a value."""
    whole = {
        index: mean(values)
        for index, values in enumerate(found)
        if values and all(map(math.isfinite, values))
    }
    if best is None or len(found) < 2 or not whole:
        return set()
    wanted = min(whole.values()) if best == "low" else max(whole.values())
    return {index for index, value in whole.items() if value == wanted}


def _columns(groups: Groups) -> list[Column]:
    runs = [run for members in groups.values() for run in members]
    columns: list[Column] = []
    if any(len(run.evaluated) for run in runs):
        columns.append(Column("accuracy", "", lambda r: r.final_accuracy, formats.percent, "high"))
        for target in all_targets(groups):
            columns += _to_target(target)
    if len({run.n_rounds for run in runs}) > 1:
        columns.append(Column("in all", "rounds", lambda r: r.n_rounds, formats.count))
    columns += [
        Column("in all", "time", lambda r: r.end_s, formats.duration),
        Column("in all", "bytes", lambda r: r.total_bytes, formats.size),
        Column("in all", "wasted", lambda r: r.wasted_share, formats.percent),
    ]
    if any(run.total_energy_j for run in runs):
        columns.append(Column("in all", "energy", lambda r: r.total_energy_j, formats.energy))
    if any(math.isfinite(run.normalised_round) for run in runs):
        columns.append(Column("in all", NORMALISED, lambda r: r.normalised_round, formats.ratio))
    return columns


def _to_target(target: float) -> list[Column]:
    def at(what: str) -> Callable[[RunData], float]:
        def value(run: RunData) -> float:
            reached = run.reached(target)
            return math.nan if reached is None else float(getattr(reached, what))

        return value

    head = f"to {formats.target(target)}"
    return [
        Column(head, "time", at("time_s"), formats.duration, "low"),
        Column(head, "rounds", at("round"), formats.count, "low"),
        Column(head, "bytes", at("bytes"), formats.size, "low"),
    ]
