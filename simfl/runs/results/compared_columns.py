"""Which columns a comparison has: what is known of whole runs and targets, and then of pairs."""

import math
from collections.abc import Sequence

from simfl.runs.results.column import Column
from simfl.runs.results.grouping import Groups, all_runs, share_seeds
from simfl.runs.results.metric import ACCURACY, COSTS, PER_ROUND, TERMINAL, TIME, Metric, totals
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import have_accuracy


def known(runs: Sequence[RunResult], metric: Metric, target: float | None = None) -> bool:
    """Whether it is known what `metric` came to: not so of energy at times.

    At a `target`, of each run that got there: older folders tell epsilon of whole runs alone.
    """
    if all(math.isnan(metric.of(run)) for run in runs):
        return False
    if target is None:
        return True
    costs = [metric.until(run, target) for run in runs]
    return not any(cost is not None and math.isnan(cost) for cost in costs)


def comparing(groups: Groups, targets: Sequence[float], baseline: str) -> list[Column]:
    """Return what compares variants with a `baseline`, seed by seed."""
    whole = totals(all_runs(groups))
    costs = [metric for metric in COSTS if metric in whole]
    columns = [Column(metric, versus=baseline) for metric in whole if metric.judges]
    paired = [[Column(cost, target, baseline) for cost in costs] for target in targets]
    if share_seeds(groups, baseline):
        for target, ratios in zip(targets, paired, strict=True):
            ratios.insert(1, Column(TIME, target, baseline, counted=True))
    columns += [column for ratios in paired for column in ratios]
    if not targets:
        per_round = [PER_ROUND[cost] for cost in costs if cost in PER_ROUND]
        columns += [Column(metric, versus=baseline) for metric in per_round]
    return columns


def _says_something(groups: Groups, baseline: str, metric: Metric) -> bool:
    """Whether `metric` is known of the baseline, and of another variant if there is any.

    Who protects no privacy has no epsilon that others' could be compared with.
    """
    others = [runs for name, runs in groups.items() if name != baseline]
    told = not others or any(known(runs, metric) for runs in others)
    return told and known(groups[baseline], metric)


def columns_of(
    groups: Groups,
    targets: Sequence[float],
    baseline: str | None,
    ideal: str | None,
) -> list[Column]:
    """Return what is compared: whole runs and what targets cost, then the same to the baseline."""
    results = all_runs(groups)
    whole = totals(results)
    columns = [Column(metric) for metric in whole]
    costs = [metric for metric in COSTS if metric in whole]
    columns += [Column(metric, target) for target in targets for metric in costs]
    if baseline is None:
        return columns
    pairs = comparing(groups, targets, baseline)
    columns += [pair for pair in pairs if _says_something(groups, baseline, pair.metric)]
    if ideal is not None and have_accuracy(results):
        if Column(TERMINAL) not in columns:  # what the improvement is of
            columns.insert(columns.index(Column(ACCURACY)) + 1, Column(TERMINAL))
        columns.append(Column(TERMINAL, versus=baseline, ideal=ideal))
    return columns
