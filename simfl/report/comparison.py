"""A comparison as text: for a terminal, Markdown, LaTeX, CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simfl.report import formats
from simfl.runs.compare import Cell, Column, Comparison, target_text
from simfl.runs.statistics import Figure, Interval, Ratio

WIDTH = 100
"""Columns of text, where the output is no terminal."""

TEXT: Mapping[str, Callable[[float], str]] = {
    "share": lambda value: formats.percent(value, 2),
    "time": formats.duration,
    "bytes": formats.size,
    "energy": formats.energy,
    "count": formats.count,
    "ratio": formats.ratio,
    "number": lambda value: f"{value:.4g}" if math.isfinite(value) else formats.NOTHING,
}
NAMES = {
    "accuracy": "accuracy",
    "terminal_accuracy": "accuracy of the last 50 rounds",
    "time_s": "time",
    "rounds": "rounds",
    "bytes": "bytes",
    "wasted_bytes": "wasted",
    "energy_j": "energy at work",
    "idle_energy_j": "energy idle",
    "normalised_time": "÷ deadline",
}


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


def render(comparison: Comparison, form: str) -> str:
    """Return a comparison as text in one of `FORMATS`."""
    return FORMATS[form](comparison)


def sections(comparison: Comparison) -> list[Section]:
    """Return the parts of a comparison: the whole runs, each target, each again as ratios."""
    parts: dict[tuple[Any, ...], list[Column]] = {}
    for column in comparison.columns:
        parts.setdefault((column.versus is not None, column.target), []).append(column)
    return [_section(comparison, columns) for columns in parts.values()]


def _section(comparison: Comparison, columns: list[Column]) -> Section:
    first, seeded = columns[0], any(len(runs) > 1 for runs in comparison.groups.values())
    rows = []
    for variant, runs in comparison.groups.items():
        cells = [cell_text(column, comparison.cell(variant, column)) for column in columns]
        rows.append([variant, *([str(len(runs))] if seeded else []), *cells])
    heads = ["variant", *(["seeds"] if seeded else []), *(_head(column) for column in columns)]
    title = "whole runs" if first.target is None else f"to {target_text(first.target)}"
    if first.versus is not None:
        title += (
            f", {first.versus} ÷ each" if first.target is not None else f", less {first.versus}"
        )
    return Section(title, heads, rows)


def _head(column: Column) -> str:
    return "relative improvement" if column.ideal is not None else name_of(column)


def name_of(column: Column) -> str:
    """Return what a column is called; a loss names its own error."""
    return NAMES.get(column.metric.name, column.metric.name.upper())


def cell_text(column: Column, cell: Cell) -> str:
    """Return one cell for people."""
    if cell is None:
        return formats.NOTHING
    if isinstance(cell, Ratio):
        return ratio_text(cell, TEXT[column.metric.unit])
    if column.versus is not None and column.ideal is None:
        return difference_text(cell)
    return figure_text(cell, TEXT[column.metric.unit], target=column.target is not None)


def figure_text(figure: Figure, text: Callable[[float], str], *, target: bool = False) -> str:
    """Return a number over seeds: mean and deviation, or the median where some seed lacks it."""
    if not figure.missing:
        deviation = f" ± {text(figure.std)}" if figure.std > 0 else ""
        return f"{text(figure.mean)}{deviation}"
    if figure.missing == figure.seeds:
        return "never" if target else formats.NOTHING
    middle = "never" if math.isinf(figure.median) else text(figure.median)
    return f"median {middle}, {figure.missing} of {figure.seeds} never"


def ratio_text(ratio: Ratio, text: Callable[[float], str]) -> str:
    """Return a ratio with its interval, or with why there is none."""
    value = formats.times(ratio.value)
    told = [interval_text(ratio.interval, formats.times)]
    if ratio.interval is not None and not ratio.distinguishable:
        told.append("not distinguishable")
    if math.isfinite(ratio.horizon):
        told.append(f"within {text(ratio.horizon)}")
    return f"{value} {', '.join(told)}"


def difference_text(figure: Figure) -> str:
    """Return a difference of shares in percentage points."""
    if math.isnan(figure.mean):
        return formats.NOTHING
    return f"{_points(figure.mean)} points {interval_text(figure.interval, _points)}"


def _points(share: float) -> str:
    return f"{100 * share:+.2f}"


def interval_text(interval: Interval | None, text: Callable[[float], str]) -> str:
    """Return an interval in brackets."""
    if interval is None:
        return "(one seed, no interval)"
    return f"[{text(interval.low)}, {text(interval.high)}]"


def legend(comparison: Comparison) -> list[str]:
    """Return how the numbers of a comparison are to be read."""
    cells = [comparison.cell(v, c) for v in comparison.groups for c in comparison.columns]
    figures = [cell for cell in cells if isinstance(cell, Figure)]
    lines = []
    if any(cell.std > 0 and not cell.missing for cell in figures):
        lines.append("Means over seeds; ± is the sample standard deviation over seeds.")
    if any(0 < cell.missing < cell.seeds for cell in figures):
        lines.append(
            "Where some seed never reached a target: the median, never counting as latest."
        )
    if comparison.baseline is not None:
        methods = {c.interval.method for c in cells if c is not None and c.interval is not None}
        how = f" with 95% intervals ({formats.listed(sorted(methods))})" if methods else ""
        lines.append(
            f"Ratios compare seed by seed (geometric mean){how}; above 1: less is needed than "
            f'{comparison.baseline} needs. "Not distinguishable": the interval holds 1.'
        )
        if any(isinstance(cell, Ratio) and math.isfinite(cell.horizon) for cell in cells):
            lines.append(
                '"Within": some seed ended there without the target, so each counts at most so '
                "much (restricted mean)."
            )
    return lines


# Forms -------------------------------------------------------------------------------------------


def as_table(comparison: Comparison) -> str:
    """Return aligned text, at most as wide as the terminal or `WIDTH`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    file = io.StringIO()
    console = Console(file=file, width=WIDTH, highlight=False, markup=False, color_system=None)
    for part in (fitting for whole in sections(comparison) for fitting in _fitting(whole)):
        table = Table(title=part.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for index, head in enumerate(part.heads):
            table.add_column(head, justify="right" if index else "left", overflow="fold")
        for row in part.rows:
            table.add_row(*row)
        console.print(table)
    for line in legend(comparison):
        console.print(line)
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").splitlines())


GAP = 3
"""Between two columns of a table: a space on both sides of its rule."""


def _fitting(part: Section) -> Iterator[Section]:
    """Yield `part` in tables no wider than `WIDTH`, so that no cell need be broken."""
    columns = [[head, *cells] for head, *cells in zip(part.heads, *part.rows, strict=True)]
    names, *others = columns
    title, taken = part.title, list[list[str]]()
    for column in others:
        width = sum(GAP + _width(shown) for shown in (names, *taken, column))
        if taken and width > WIDTH:
            yield _of_columns(title, [names, *taken])
            title, taken = f"{part.title}, continued", []
        taken.append(column)
    yield _of_columns(title, [names, *taken])


def _width(column: Sequence[str]) -> int:
    """Return how wide a column is whose head may be broken between words."""
    head, *cells = column
    return max(map(len, [*head.split(), *cells]))


def _of_columns(title: str, columns: Sequence[Sequence[str]]) -> Section:
    heads, *rows = [list(row) for row in zip(*columns, strict=True)]
    return Section(title, heads, rows)


def as_markdown(comparison: Comparison) -> str:
    """Return a table per section, in Markdown."""

    def row(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    lines = []
    for part in sections(comparison):
        rule = "| --- |" + " ---: |" * (len(part.heads) - 1)
        lines += [f"**{part.title}**", "", row(part.heads), rule, *map(row, part.rows), ""]
    return "\n".join([*lines, *legend(comparison)]).rstrip("\n")


_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "×": r"$\times$", "÷": r"$\div$", "–": "--", "[": "{[}", "]": "{]}",
}  # fmt: skip


def as_latex(comparison: Comparison) -> str:
    """Return a booktabs table per section."""

    def row(cells: list[str]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in cells) + r" \\"

    lines = [r"% \usepackage{booktabs}"]
    for part in sections(comparison):
        lines += [f"% {part.title}", rf"\begin{{tabular}}{{l{'r' * (len(part.heads) - 1)}}}"]
        lines += [r"\toprule", row(part.heads), r"\midrule", *map(row, part.rows)]
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {line}" for line in legend(comparison))])


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
    buffer = io.StringIO()
    rows = [
        {"variant": variant, "seeds": len(runs), **dict(_flat(comparison, variant))}
        for variant, runs in comparison.groups.items()
    ]
    heads = dict.fromkeys(head for row in rows for head in row)
    writer = csv.DictWriter(buffer, list(heads), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({head: _defused(cell) for head, cell in row.items()} for row in rows)
    return buffer.getvalue().rstrip("\n")


def _defused(cell: Any) -> Any:
    """Put a quote before text that a spreadsheet would run: a run folder may be a stranger's."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) else cell


def _flat(comparison: Comparison, variant: str) -> Iterator[tuple[str, Any]]:
    for column in comparison.columns:
        for name, value in (facts(comparison.cell(variant, column)) or {}).items():
            own = column.key if name in ("mean", "ratio") else f"{column.key}_{name}"
            yield own, "" if value is None else value


def facts(cell: Cell) -> dict[str, Any] | None:
    """Return a cell for programs; what is not finite is None."""
    if cell is None:
        return None

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    interval = cell.interval
    bounds = {
        "low": None if interval is None else finite(interval.low),
        "high": None if interval is None else finite(interval.high),
        "interval": None if interval is None else interval.method,
    }
    if isinstance(cell, Ratio):
        told = {"ratio": finite(cell.value), **bounds, "distinguishable": cell.distinguishable}
        return told | {"seeds": cell.seeds, "horizon": finite(cell.horizon)}
    told = {"mean": finite(cell.mean), "std": finite(cell.std), "median": finite(cell.median)}
    return told | {"missing": cell.missing, **bounds}


FORMATS: Mapping[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}
