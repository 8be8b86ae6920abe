"""What a comparison says, in words: sections of rows for people, and how to read them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from simfl.report import formats
from simfl.report.axes import UNITS, unit_for
from simfl.report.comparison.cells import cell_text
from simfl.runs.folder.measures import TERMINAL_ROUNDS
from simfl.runs.results.compare import Column, Comparison, target_text
from simfl.runs.results.grouping import all_runs
from simfl.runs.results.metric import EPSILONS, NORMALISED, TERMINAL
from simfl.runs.results.several import judged_on
from simfl.runs.results.statistics import Figure, Ratio

NAMES = {
    "accuracy": "accuracy",
    "terminal_accuracy": f"accuracy, last {TERMINAL_ROUNDS} rounds",
    "time_s": "time",
    "rounds": "rounds",
    "bytes": "bytes",
    "wasted_bytes": "wasted",
    "energy_j": "energy at work",
    "idle_energy_j": "energy idle",
    "normalised_time": "last arrival / deadline",
    "epsilon": "epsilon",
    "epsilon_poisson": "epsilon, Poisson",
    "best_accuracy": "best accuracy",
    "loss": "loss",
    "gemd": "GEMD",
    "gini": "Gini of participations",
    "time_per_round": "time",
    "bytes_per_round": "bytes",
    "energy_per_round": "energy at work",
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
    first, seeded = columns[0], any(len(runs) > 1 for runs in comparison.groups.values())
    told = [_scale(comparison, column, one_unit) for column in columns]
    rows = []
    for variant, runs in comparison.groups.items():
        cells = [
            formats.NOTHING
            if _against_itself(variant, column)
            else cell_text(column, comparison.cell(variant, column), text)
            for column, (_, text) in zip(columns, told, strict=True)
        ]
        rows.append([variant, *([str(len(runs))] if seeded else []), *cells])
    names = [
        head(comparison, column) + unit for column, (unit, _) in zip(columns, told, strict=True)
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


def _against_itself(variant: str, column: Column) -> bool:
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


def head(comparison: Comparison, column: Column) -> str:
    """Return what a column of a comparison is called."""
    if column.ideal is not None:
        return "relative improvement"
    judged = {*map(judged_on, all_runs(comparison.groups))}
    trained = column.metric.unit == "share" and judged == {"train"}
    return f"{'training ' if trained else ''}{name_of(column)}"


def name_of(column: Column) -> str:
    """Return what a column is called; losses and metrics bring names of their own."""
    return NAMES.get(column.metric.name) or formats.metric(column.metric.name)


def legend(comparison: Comparison) -> list[str]:
    """Return how the numbers of a comparison are to be read."""
    cells = [
        (column, comparison.cell(variant, column))
        for variant in comparison.groups
        for column in comparison.columns
        if not _against_itself(variant, column)
    ]
    figures = [(column, cell) for column, cell in cells if isinstance(cell, Figure)]
    ratios = [cell for _, cell in cells if isinstance(cell, Ratio)]
    differences = [f for column, f in figures if column.versus is not None and column.ideal is None]
    lines = []
    if any(cell.std > 0 and not cell.missing for _, cell in figures):
        lines.append("Means over seeds; ± is the sample standard deviation over seeds.")
    if any(0 < cell.missing < cell.seeds and column.target for column, cell in figures):
        lines.append(
            "Where some seed never reached a target: the median, never counting as latest."
        )
    if Column(TERMINAL) in comparison.columns:
        lines.append(
            f"Accuracy, last {TERMINAL_ROUNDS} rounds: the mean of their evaluations, or of all "
            "there are."
        )
    if Column(NORMALISED) in comparison.columns:
        lines.append(
            "Last arrival / deadline: time to the last arrival of a round by its deadline (0 where "
            "nobody arrived), in the mean of all rounds that have one; a period is one, and "
            "polls before it count, too."
        )
    lines += _legend_of_privacy(comparison)
    lines += _legend_of_improvement(comparison)
    baseline = str(comparison.baseline)
    lines += _legend_of_differences(differences, baseline)
    lines += _legend_of_ratios(ratios, baseline)
    compared = any(c.versus is not None and c.ideal is None for c in comparison.columns)
    return lines + (_legend_of_seeds(comparison) if compared else [])


def _legend_of_privacy(comparison: Comparison) -> list[str]:
    """Return what the epsilons that are told are of, and at which delta."""
    spent = [run.privacy for runs in comparison.groups.values() for run in runs]
    known = {own["delta"] for own in spent if own.get("epsilon") is not None}
    if not known:
        return []
    deltas = formats.listed([f"{delta:g}" for delta in sorted(known)])
    exact, poisson = (any(c.metric == e for c in comparison.columns) for e in EPSILONS)
    lines = []
    if exact:
        lines.append(f"Epsilon, at delta {deltas}: of the client whose updates counted most often.")
    if poisson:
        lines.append(
            f"Epsilon, Poisson, at delta {deltas}: an upper bound, had each round asked each "
            "client with the same chance, by itself."
        )
    return lines


def _legend_of_seeds(comparison: Comparison) -> list[str]:
    """Return of how many seeds comparisons are, where variants have others than the baseline."""
    seeds = {name: {run.seed for run in runs} for name, runs in comparison.groups.items()}
    base = seeds[str(comparison.baseline)]
    told = [f"{len(base & own):,} with {name}" for name, own in seeds.items() if own != base]
    if not told:
        return []
    return [f"Compared are the seeds that both have: {formats.listed(told, formats.SOME)}."]


def _with_intervals(compared: Sequence[Figure | Ratio]) -> str:
    methods = {cell.interval.method for cell in compared if cell.interval is not None}
    return f" with 95% intervals ({formats.listed(sorted(methods))})" if methods else ""


def _legend_of_differences(differences: Sequence[Figure], baseline: str) -> list[str]:
    """Return how differences from the `baseline` are to be read."""
    told = [figure for figure in differences if not math.isnan(figure.mean)]
    if not told:
        return []
    intervals = _with_intervals(told)
    chance = " An interval that holds 0: chance may explain it." if intervals else ""
    return [
        f"Differences are seed by seed (mean){intervals}; above 0: more than {baseline}.{chance}"
    ]


def _legend_of_improvement(comparison: Comparison) -> list[str]:
    """Return how a relative improvement is to be read."""
    for column in comparison.columns:
        if column.ideal is None:
            continue
        line = (
            f"Relative improvement: of accuracy, last {TERMINAL_ROUNDS} rounds; 0% is "
            f"{column.versus}'s, 100% {column.ideal}'s (a dash: that is no better)."
        )
        reach = comparison.cell(column.ideal, Column(column.metric, versus=column.versus))
        if isinstance(reach, Figure) and (own := reach.interval) and own.low <= 0 <= own.high:
            line += " The two are not distinguishable in it, so that it says little."
        return [line]
    return []


def _legend_of_ratios(ratios: Sequence[Ratio], baseline: str) -> list[str]:
    """Return how ratios to the `baseline` are to be read."""
    if not ratios:
        return []
    intervals = _with_intervals(ratios)
    level = ' "Not distinguishable": the interval holds 1.' if intervals else ""
    lines = [
        f"Ratios compare seed by seed (geometric mean){intervals}; above 1: less is needed than "
        f"{baseline} needs.{level}"
    ]
    if any(math.isfinite(ratio.horizon) for ratio in ratios):
        lines.append(
            '"Within": some seed ended there without the target, so each counts at most so '
            "much (restricted mean)."
        )
    return lines
