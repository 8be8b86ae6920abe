"""Compare runs: virtual time, rounds and bytes to each target, mean and spread over seeds."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from simfl.errors import InputError, nearest
from simfl.runs.folder import is_run
from simfl.runs.result import Result

Format = Literal["table", "csv", "json", "markdown"]


@dataclass(frozen=True)
class Figure:
    """One number over seeds.

    Attributes:
        mean: over the seeds that have it (NaN: none has).
        spread: sample standard deviation (NaN with fewer than two).
        missing: seeds without it, e.g. that never reached the target.
        median: over all seeds, one that never got there counting as later than all others
            (infinite: at least half never did).  Unlike the mean it does not favour a variant for
            missing a target on the seeds that are hard.
    """

    mean: float
    spread: float
    missing: int
    median: float = math.nan

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Figure":
        """Return the figure of some values, None where there is none."""
        listed = list(values)
        there = [value for value in listed if value is not None and not math.isnan(value)]
        if not there:
            return cls(math.nan, math.nan, len(listed), math.inf if listed else math.nan)
        mean = math.fsum(there) / len(there)
        squares = math.fsum((value - mean) ** 2 for value in there)
        spread = math.sqrt(squares / (len(there) - 1)) if len(there) > 1 else math.nan
        missing = len(listed) - len(there)
        return cls(mean, spread, missing, median([*there, *[math.inf] * missing]))


@dataclass(frozen=True)
class Line:
    """One variant: its name, how many seeds, and its figures by column name."""

    variant: str
    seeds: int
    figures: dict[str, Figure]


def find_runs(paths: Sequence[Path]) -> list[Result]:
    """Return the finished runs in and below `paths`, in order of path, each once.

    Raises:
        InputError: there is none below one of them.
    """
    found: list[Path] = []
    for path in paths:
        folders = [path] if is_run(path) else sorted(_run_folders(path))
        if not folders:
            raise InputError(f"{path} holds no run")
        found += folders
    return [Result(folder) for folder in {each.resolve(): each for each in found}.values()]


def _run_folders(path: Path) -> list[Path]:
    return [file.parent for file in path.rglob("provenance.json") if is_run(file.parent)]


def compare(results: Sequence[Result], targets: Sequence[float] | None = None) -> list[Line]:
    """Return a line per variant.

    Args:
        results: finished runs.
        targets: accuracies (None: those of the scenarios).
    """
    groups: dict[str, list[Result]] = {}
    several = len({result.summary["name"] for result in results}) > 1
    for result in results:
        variant = result.provenance["variant"]
        name = f"{result.summary['name']}/{variant}" if several else variant
        groups.setdefault(name, []).append(result)
    wanted = targets
    if wanted is None:
        wanted = sorted({t for result in results for t in result.targets})
    return [_line(name, runs, wanted) for name, runs in groups.items()]


def against(lines: Sequence[Line], baseline: str, ideal: str | None = None) -> list[Line]:
    """Return `lines` with their gain over a baseline.

    Adds, for each target, `rounds_speedup_to_X%` and `time_speedup_to_X%`, the baseline's mean over
    the line's own, and with an `ideal` `relative_improvement`, (accuracy - baseline's) / (ideal's -
    baseline's) in terminal accuracy: 1 is as good as the ideal (FedACS, section VI); NaN where the
    two are equal.

    Raises:
        InputError: there is no such line.
    """
    by_name = {line.variant: line for line in lines}
    for name in filter(None, (baseline, ideal)):
        if name not in by_name:
            raise InputError(f"no variant {name!r} was run{nearest(name, by_name)}")
    base = by_name[baseline].figures
    reach = 0.0
    if ideal is not None:
        reach = by_name[ideal].figures["terminal_accuracy"].mean - base["terminal_accuracy"].mean
    found = []
    for line in lines:
        figures = dict(line.figures)
        for column, figure in line.figures.items():
            what, _, target = column.partition("_to_")
            if target and what in ("round", "time_s"):
                name = "rounds" if what == "round" else "time"
                gain = base[column].mean / figure.mean if figure.mean else math.nan
                figures[f"{name}_speedup_to_{target}"] = Figure(gain, math.nan, 0)
        if ideal is not None:
            gain = figures["terminal_accuracy"].mean - base["terminal_accuracy"].mean
            share = gain / reach if reach else math.nan
            figures["relative_improvement"] = Figure(share, math.nan, 0)
        found.append(Line(line.variant, line.seeds, figures))
    return found


def _line(name: str, runs: Sequence[Result], targets: Sequence[float]) -> Line:
    figures = {
        "accuracy": Figure.of(run.summary["final_accuracy"] for run in runs),
        "terminal_accuracy": Figure.of(run.summary["terminal_accuracy"] for run in runs),
        "rounds": Figure.of(run.summary["rounds"] for run in runs),
        "time_s": Figure.of(run.summary["virtual_time_s"] for run in runs),
        "bytes": Figure.of(run.total_bytes for run in runs),
        "wasted_bytes": Figure.of(run.summary["totals"]["wasted_bytes"] for run in runs),
    }
    costs = ["time_s", "round", "bytes"]
    if any(run.summary["totals"]["energy_j"] for run in runs):
        costs.append("energy_j")
        figures["energy_j"] = Figure.of(run.summary["totals"]["energy_j"] for run in runs)
    if any("normalised_round_time" in run.summary for run in runs):
        times = [run.summary.get("normalised_round_time", {}).get("last_arrival") for run in runs]
        figures["normalised_time"] = Figure.of(times)
    for target in targets:
        reached = [run.reached(target) for run in runs]
        for what in costs:
            key = f"{what}_to_{target:.0%}" if round(target * 100, 9) % 1 == 0 else ""
            key = key or f"{what}_to_{100 * target:g}%"
            figures[key] = Figure.of(None if at is None else at[what] for at in reached)
    return Line(name, len(runs), figures)


def render(lines: Sequence[Line], form: Format) -> str:
    """Return the comparison as text.

    A target that some seed never reached shows how many did not, and the median over all; N/A
    means none did.
    """
    if form == "json":
        return json.dumps([_plain(line) for line in lines], indent=2)
    columns = ["variant", "seeds", *dict.fromkeys(k for line in lines for k in line.figures)]
    if form == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(_csv_header(columns))
        for line in lines:
            writer.writerow(_csv_row(line, columns[2:]))
        return buffer.getvalue().rstrip("\n")
    rows = [
        [line.variant, str(line.seeds), *(show(c, line.figures.get(c)) for c in columns[2:])]
        for line in lines
    ]
    if form == "markdown":
        text = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
        return "\n".join(text + ["| " + " | ".join(row) + " |" for row in rows])
    return _table(columns, rows)


def _table(columns: list[str], rows: list[list[str]]) -> str:
    """Return aligned text; variants that fill the terminal's width turn the table on its side."""
    if len(columns) > 8:
        columns, *rows = [list(row) for row in zip(columns, *rows, strict=True)]
    grid = [columns, *rows]
    widths = [max(len(row[i]) for row in grid) for i in range(len(columns))]
    text = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


def show(column: str, figure: Figure | None) -> str:
    """Return a figure for people: mean, spread, and how many seeds lack it."""
    if figure is None or math.isnan(figure.mean):
        return "N/A"
    mean, spread = _number(column, figure.mean), _number(column, figure.spread)
    text = mean if math.isnan(figure.spread) else f"{mean} ± {spread}"
    if not figure.missing:
        return text
    middle = "never" if math.isinf(figure.median) else _number(column, figure.median)
    return f"{text} ({figure.missing} never; median {middle})"


def _number(column: str, value: float) -> str:
    if "bytes" in column:
        for unit in ("B", "kB", "MB", "GB"):
            if abs(value) < 1000:
                return f"{value:.4g} {unit}"
            value /= 1000
        return f"{value:.4g} TB"
    if column.startswith("time_s"):
        return f"{value:,.1f} s"
    if column in ("accuracy", "terminal_accuracy", "relative_improvement"):
        return f"{100 * value:.2f}%"
    if column == "normalised_time":
        return f"{value:.4f}"
    return f"{value:,.4g}" if value % 1 else f"{value:,.0f}"


def _plain(line: Line) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "variant": line.variant,
        "seeds": line.seeds,
        **{
            name: {
                "mean": finite(f.mean),
                "std": finite(f.spread),
                "median": finite(f.median),
                "missing": f.missing,
            }
            for name, f in line.figures.items()
        },
    }


def _csv_header(columns: list[str]) -> list[str]:
    spread = [part for name in columns[2:] for part in (name, f"{name}_std", f"{name}_missing")]
    return columns[:2] + spread


def _csv_row(line: Line, names: list[str]) -> list[Any]:
    row: list[Any] = [line.variant, line.seeds]
    for name in names:
        figure = line.figures.get(name, Figure(math.nan, math.nan, line.seeds))
        row += ["" if math.isnan(v) else repr(v) for v in (figure.mean, figure.spread)]
        row.append(figure.missing)
    return row
