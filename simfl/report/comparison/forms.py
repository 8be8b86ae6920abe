"""A comparison as text: for a terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from simfl.report.caveats.headings import NAMED, NOT_MEANT, caveats
from simfl.report.caveats.side_by_side import LARGER, MUCH_LARGER
from simfl.report.comparison.legend import legend
from simfl.report.comparison.sections import Section, sections
from simfl.report.text_columns import folded
from simfl.report.text_page import TextPage
from simfl.runs.folder.eventlog import finite
from simfl.runs.results.column import Column
from simfl.runs.results.comparison import Cell, Comparison
from simfl.runs.results.grouping import all_runs
from simfl.runs.results.metric import PER_ROUND, ROUNDS, WASTED
from simfl.runs.results.paired import Ratio
from simfl.runs.results.several import untrained
from simfl.runs.results.signs import Signs
from simfl.runs.results.statistics import ENOUGH, Figure


def render(comparison: Comparison, form: str) -> str:
    """Return a comparison as text in one of `FORMATS`."""
    return FORMATS[form](comparison)


def _below(comparison: Comparison) -> list[str]:
    """Return what stands below the numbers: how to read them, and what they hide."""
    groups, columns = comparison.groups, comparison.columns
    clock_only = untrained(all_runs(groups))
    counted = any(c.metric is ROUNDS and c.target is not None for c in columns)
    rounds = MUCH_LARGER if counted else math.inf
    if clock_only or any(c.metric in PER_ROUND.values() for c in columns):
        rounds = LARGER
    told = caveats(
        groups,
        sorted({c.target for c in columns if c.target is not None}),
        energy=any(c.metric.unit == "energy" for c in columns),
        rounds=rounds,
        waste=Column(WASTED) in columns,
    )
    lines = [_sentence(heading, text) for heading, own in told.items() for text in own]
    if clock_only:
        lines.append("Only time was simulated: nothing was trained, so there is no accuracy.")
    return [*legend(comparison), *lines]


def _sentence(heading: str, text: str) -> str:
    """Return a caveat as it stands where headings do not."""
    if heading == NOT_MEANT:
        return f"{heading}: {text}"
    return text if heading in NAMED else text[0].upper() + text[1:]


def as_table(comparison: Comparison) -> str:
    """Return aligned text; tables wider than the terminal are cut, and long names folded."""
    page = TextPage()
    for whole in sections(comparison):
        part = _named_shortly(whole, page.width // 3)
        page.tables(part.columns, part.title)
    for line in _below(comparison):
        page.line(line)
    return str(page)


def _named_shortly(part: Section, width: int) -> Section:
    """Return `part` with the names in its first column folded to `width`, or a head's."""
    width = max(width, len(part.heads[0]))
    return Section(part.title, part.heads, [[folded(n, width), *row] for n, *row in part.rows])


def as_markdown(comparison: Comparison) -> str:
    """Return a table per section, in Markdown; a column has one unit."""

    def row(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    lines = []
    for part in sections(comparison, one_unit=True):
        rule = "| --- |" + " ---: |" * (len(part.heads) - 1)
        lines += [f"**{part.title}**", "", row(part.heads), rule, *map(row, part.rows), ""]
    return "\n".join([*lines, *_below(comparison)]).rstrip("\n")


_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "÷": r"$\div$", "–": "--", "[": "{[}", "]": "{]}",
}  # fmt: skip


_MINUS = re.compile(r"(?<![^\s\[])-(?=\d)")
"""A hyphen that is a number's sign, not one within a name."""


def as_latex(comparison: Comparison) -> str:
    """Return a booktabs table per section; a column has one unit."""

    def row(cells: list[str]) -> str:
        signed = (_MINUS.sub("−", cell) for cell in cells)
        return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in signed) + r" \\"

    lines = [r"% \usepackage{booktabs}"]
    for part in sections(comparison, one_unit=True):
        lines += [f"% {part.title}", rf"\begin{{tabular}}{{l{'r' * (len(part.heads) - 1)}}}"]
        lines += [r"\toprule", row(part.heads), r"\midrule", *map(row, part.rows)]
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {line}" for line in _below(comparison))])


def as_json(comparison: Comparison) -> str:
    """Return a list of variants with all that is known of each column."""
    rows = [
        {
            "variant": variant,
            "seeds": len(runs),
            **{c.key: facts(comparison.cell(variant, c)) for c in comparison.columns},
        }
        for variant, runs in comparison.groups.items()
    ]
    return json.dumps(rows, indent=2)


def as_csv(comparison: Comparison) -> str:
    """Return a line per variant; every fact of a column is a column of its own."""
    buffer, rows = io.StringIO(), numbers(comparison)
    heads = dict.fromkeys(head for row in rows for head in row)
    writer = csv.DictWriter(buffer, list(heads), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({head: _defused(cell) for head, cell in row.items()} for row in rows)
    return buffer.getvalue().rstrip("\n")


def numbers(comparison: Comparison) -> list[dict[str, Any]]:
    """Return all that is known of each variant, by name and base unit; None: it is not."""
    rows: list[dict[str, Any]] = [
        {"variant": variant, "seeds": len(runs)} for variant, runs in comparison.groups.items()
    ]
    told = [
        [_flat(column, comparison.cell(row["variant"], column)) for row in rows]
        for column in comparison.columns
    ]
    for cells in told:
        heads = dict.fromkeys(head for cell in cells for head in cell)
        for row, cell in zip(rows, cells, strict=True):
            row |= {head: cell.get(head) for head in heads}
    return rows


def _defused(cell: Any) -> Any:
    """Put a quote before text that a spreadsheet would run: a run folder may be a stranger's."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) else cell


def _flat(column: Column, cell: Cell) -> dict[str, Any]:
    """Return the facts of a cell, each by the name that its column has in a CSV file."""
    told = facts(cell) or {"sooner" if column.counted else "mean": None}
    return {
        column.key if name in ("mean", "ratio", "sooner") else f"{column.key}_{name}": value
        for name, value in told.items()
    }


def facts(cell: Cell) -> dict[str, Any] | None:
    """Return a cell for programs; what is not finite is None, and without an interval is why."""
    if cell is None:
        return None
    if isinstance(cell, Signs):
        counts = {"sooner": cell.less, "later": cell.more, "seeds": cell.seeds}
        return counts | {"sign_test_p": cell.p}
    interval: dict[str, Any] = {"low": None, "high": None, "interval": None}
    if why := _why_no_interval(cell):
        interval["why_no_interval"] = why
    elif (own := cell.interval) is not None:
        interval = {"low": own.low, "high": own.high, "interval": own.method}
    told: dict[str, Any]
    if isinstance(cell, Ratio):
        told = {"ratio": cell.value, **interval, "distinguishable": cell.distinguishable}
        told |= {"seeds": cell.seeds, "horizon": cell.horizon}
    else:
        told = {"mean": cell.mean, "std": cell.std, "median": cell.median}
        told |= {"missing": cell.missing, **interval}
    return {name: finite(value) for name, value in told.items()}


def _why_no_interval(cell: Figure | Ratio) -> str:
    """Return why an interval says nothing, or there is none ("": there is one)."""
    if isinstance(cell, Figure) and cell.missing:
        return "some seed lacks it"
    if (own := cell.interval) is None:
        return {0: "no seed that both have", 1: "one seed"}.get(cell.seeds, "not finite")
    agree = own.low == own.high and cell.seeds < ENOUGH
    return "two seeds agree" if agree and (isinstance(cell, Figure) or cell.coincident) else ""


FORMATS: Mapping[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}
