"""How the numbers of a comparison are to be read, in words."""

import math
from collections.abc import Sequence

from simfl.report import formats
from simfl.report.comparison.sections import against_itself
from simfl.runs.folder.measures import TERMINAL_ROUNDS
from simfl.runs.results.column import Column
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.metric import EPSILONS, NORMALISED, TERMINAL, times
from simfl.runs.results.paired import Ratio, zero_cost
from simfl.runs.results.signs import DECISIVE, Signs
from simfl.runs.results.statistics import Figure

BY_CHANCE = 0.05
"""Share of the intervals, which are 95% ones, that leave out what is so."""


def legend(comparison: Comparison) -> list[str]:
    """Return how the numbers of a comparison are to be read."""
    cells = [
        (column, comparison.cell(variant, column))
        for variant in comparison.groups
        for column in comparison.columns
        if not against_itself(variant, column)
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
    if any(column.metric == TERMINAL and column.ideal is None for column in comparison.columns):
        lines.append(
            f"Accuracy, last {TERMINAL_ROUNDS} rounds: the mean of their evaluations, or of all "
            "there are."
        )
    if Column(NORMALISED) in comparison.columns:
        lines.append(
            "Last arrival / deadline: time to the last arrival of a round by its deadline (0 where "
            "nobody arrived), averaged over rounds with a deadline or a period; polls before it "
            "count, too."
        )
    lines += _legend_of_privacy(comparison)
    lines += _legend_of_improvement(comparison)
    baseline = str(comparison.baseline)
    lines += legend_of_differences(differences, baseline)
    lines += _legend_of_ratios(ratios, baseline)
    lines += _legend_of_signs([cell for _, cell in cells if isinstance(cell, Signs)], baseline)
    lines += legend_of_many([*differences, *ratios])
    lines += _legend_of_nothing(comparison)
    compared = any(c.versus is not None and c.ideal is None for c in comparison.columns)
    return lines + (legend_of_seeds(comparison.groups, baseline) if compared else [])


def _legend_of_privacy(comparison: Comparison) -> list[str]:
    """Return what the epsilons that are told are of, and at which delta."""
    telling = [run for run in all_runs(comparison.groups) if math.isfinite(EPSILONS[0].of(run))]
    known = {run.written("aggregation", "delta") for run in telling}
    if not known:
        return []
    deltas = formats.listed([f"{delta:g}" for delta in sorted(known)])
    exact, poisson = (any(c.metric == e for c in comparison.columns) for e in EPSILONS)
    lines = []
    if exact:
        lines.append(f"Epsilon, at delta {deltas}: of the client whose updates counted most often.")
    if poisson:
        lines.append(
            f"Epsilon, Poisson, at delta {deltas}: an upper bound that assumes that each "
            "round asks each client independently, with the same probability."
        )
    return lines


def legend_of_seeds(groups: Groups, baseline: str) -> list[str]:
    """Return of how many seeds comparisons are, where variants have others than the baseline."""
    seeds = {name: {run.seed for run in runs} for name, runs in groups.items()}
    base = seeds[baseline]
    told = [f"{len(base & own):,} with {name}" for name, own in seeds.items() if own != base]
    if not told:
        return []
    return [f"Compared are the seeds that both have: {formats.listed(told, formats.SOME)}."]


def _with_intervals(compared: Sequence[Figure | Ratio]) -> str:
    methods = {cell.interval.method for cell in compared if cell.interval is not None}
    return f" with 95% intervals ({formats.listed(sorted(methods))})" if methods else ""


def legend_of_differences(differences: Sequence[Figure], baseline: str) -> list[str]:
    """Return how differences from the `baseline` are to be read."""
    told = [figure for figure in differences if not math.isnan(figure.mean)]
    if not told:
        return []
    intervals = _with_intervals(told)
    agreed = any(figure.coincident and figure.mean for figure in told)
    agree = ", or two seeds agree" if agreed else ""
    chance = f" Where an interval holds 0{agree}, chance may explain it." if intervals else ""
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
        if isinstance(reach, Figure) and reach.level:
            line += " The two are not distinguishable in it, so that it says little."
        return [line]
    return []


def _legend_of_ratios(ratios: Sequence[Ratio], baseline: str) -> list[str]:
    """Return how ratios to the `baseline` are to be read."""
    if not ratios:
        return []
    intervals = _with_intervals(ratios)
    by_chance = ", or two seeds agree" if any(r.coincident and not r.tied for r in ratios) else ""
    level = f' "Not distinguishable": the interval holds 1{by_chance}.' if intervals else ""
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


def _legend_of_signs(counts: Sequence[Signs], baseline: str) -> list[str]:
    """Return how counts of seeds are to be read, and how many it takes to say something."""
    if not counts:
        return []
    line = f"Sooner than {baseline}: with how many of the seeds that both have"
    if any(signs.less + signs.more < signs.seeds for signs in counts):
        line += " (the rest: equally soon, or neither got there while both ran)"
    line += "; p is the sign test's (two-sided): from 0.05 on chance may explain it"
    if max(signs.seeds for signs in counts) < DECISIVE:
        line += f", which fewer than {DECISIVE} seeds are never below, however they fall"
    return [f"{line}."]


def legend_of_many(compared: Sequence[Figure | Ratio]) -> list[str]:
    """Return how many of these would differ by chance alone, where that is one at least."""
    intervals = sum(cell.interval is not None for cell in compared)
    if intervals * BY_CHANCE < 1:
        return []
    return [
        f"Each interval is of one comparison alone: of {intervals} of them about "
        f"{intervals * BY_CHANCE:.0f} would tell a difference if there were none."
    ]


def _legend_of_nothing(comparison: Comparison) -> list[str]:
    """Return why some have no ratio: who begins at a target takes nothing to it."""
    for column in comparison.columns:
        if not column.divided:
            continue
        base = times(comparison.groups[str(column.versus)], column.metric, column.target)
        for variant, runs in comparison.groups.items():
            own = times(runs, column.metric, column.target)
            if variant != column.versus and zero_cost(own, base):
                return ["A dash in place of a ratio: with some seed one of the two took nothing."]
    return []
