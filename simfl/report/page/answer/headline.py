"""The first sentences of a page: who reached the targets when, or else what can be said."""

import math
from collections.abc import Callable, Sequence
from itertools import chain, groupby

from simfl.core.target import metric_of
from simfl.report import formats
from simfl.report.page.answer.best import best_accuracy, least_error
from simfl.report.page.answer.pace import pace
from simfl.report.page.answer.race import race
from simfl.report.page.answer.relapses import relapses
from simfl.report.page.answer.standings import standings
from simfl.runs.results.column import target_text
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_targets, can_reach, have_accuracy


def headline(groups: Groups) -> list[str]:
    """Return the answer, in a few sentences."""
    return [*chain.from_iterable(paragraphs(groups))]


def paragraphs(groups: Groups) -> list[list[str]]:
    """Return the sentences of the answer, those about one target together."""
    runs = all_runs(groups)
    asked = [target for target in all_targets(runs) if can_reach(runs, target)]
    met = [target for target in asked if any(run.reached(target) for run in runs)]
    if not (met or any(run.n_rounds for run in runs)):
        ended = all(run.finished for run in runs)
        return [["No round ended." if ended else "No round has ended yet."]]
    if not (asked or have_accuracy(runs)):
        return [[*least_error(groups), *pace(groups)]]
    unmet = [target_text(target) for target in asked if target not in met]
    missed = formats.listed(unmet, last="or") if unmet else ""
    told = [own for targets in _by_metric(met) for own in _race_to(targets, groups)]
    if not have_accuracy(runs):
        missing = [f"{_nobody(groups)} {missed}."] if missed else []
        return [own for own in (*told, missing, least_error(groups)) if own]
    if missed or not met:
        may = _who_may_reach(1.0, groups)
        never = f"{_nobody(may)} {missed}; the " if missed else "The "
        told.append([f"{never}best accuracy of any round was {best_accuracy(may)}."])
    return told


def _by_metric(targets: Sequence[float]) -> list[list[float]]:
    """Return targets, those of one metric together."""
    return [list(own) for _, own in groupby(targets, metric_of)]


def _race_to(targets: Sequence[float], groups: Groups) -> list[list[str]]:
    """Say who reached targets of one metric; of those below one that most did, the table has all.

    Args:
        targets: that somebody reached, the easiest first.
        groups: the runs, by variant.
    """
    told = list[list[str]]()
    for target in reversed(targets):
        may = _who_may_reach(target, groups)
        ranked = standings(may, target)
        told.insert(0, [*race(ranked, target), *relapses(may, target)])
        if not math.isinf(ranked[0].time_s.middle):
            break
    return told


def _who_may_reach(target: float, groups: Groups) -> Groups:
    """Return the variants whose models are judged by what `target` is of; others never could."""
    may = _may_have_accuracy if metric_of(target) == "accuracy" else _is_judged_by(target)
    return {name: own for name, own in groups.items() if any(map(may, own))}


def _is_judged_by(target: float) -> Callable[[RunResult], bool]:
    return lambda run: not run.time_only and metric_of(target) in run.criteria.named


def _may_have_accuracy(run: RunResult) -> bool:
    """Whether a run trains, with a loss that knows right answers."""
    return not run.time_only and run.error is None


def _nobody(groups: Groups) -> str:
    if all(run.finished for run in all_runs(groups)):
        return "Nobody reached" if len(groups) > 1 else "It never reached"
    return "Nobody has yet reached" if len(groups) > 1 else "It has not yet reached"
