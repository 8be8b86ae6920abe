"""The first sentences of a page: who reached the targets when, or else what can be said."""

import math

from simfl.report import formats
from simfl.report.charts.base import Groups, all_runs
from simfl.report.page.answer.best import best_accuracy, least_error
from simfl.report.page.answer.pace import pace
from simfl.report.page.answer.race import race
from simfl.report.page.answer.standings import standings
from simfl.runs.results.compare import target_text
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_targets, have_accuracy


def headline(groups: Groups) -> list[str]:
    """Return the answer, in a few sentences."""
    runs = all_runs(groups)
    if not any(run.n_rounds for run in runs):
        ended = all(run.finished for run in runs)
        return ["No round ended." if ended else "No round has ended yet."]
    if not have_accuracy(runs):
        return [*least_error(groups), *pace(groups)]
    groups = {  # others never could
        name: own for name, own in groups.items() if any(map(_may_have_accuracy, own))
    }
    targets = all_targets(runs)
    met = [target for target in targets if any(run.reached(target) for run in runs)]
    missed = [target_text(target) for target in targets if target not in met]
    sentences = list[str]()
    for target in reversed(met):
        ranked = standings(groups, target)
        sentences = [*race(ranked, target), *sentences]
        if not math.isinf(ranked[0].time_s.middle):
            break  # of those below all is in the table
    if missed or not met:
        none = formats.listed(missed, last="or") if missed else ""
        never = f"{_nobody(groups)} {none}; the " if missed else "The "
        sentences.append(f"{never}best accuracy of any round was {best_accuracy(groups)}.")
    return sentences


def _may_have_accuracy(run: RunResult) -> bool:
    """Whether a run trains, with a loss that knows right answers."""
    return not run.time_only and run.error is None


def _nobody(groups: Groups) -> str:
    if all(run.finished for run in all_runs(groups)):
        return "Nobody reached" if len(groups) > 1 else "It never reached"
    return "Nobody has yet reached" if len(groups) > 1 else "It has not yet reached"
