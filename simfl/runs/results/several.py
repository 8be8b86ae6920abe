"""What can be asked of several runs at once."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from simfl.core.target import metric_of
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ANY, Range

if TYPE_CHECKING:
    from simfl.components.metrics.base import Better


def have_accuracy(runs: Iterable[RunResult]) -> bool:
    """Return whether any of these runs has an accuracy."""
    return any(run.has_accuracy for run in runs)


def can_reach(runs: Iterable[RunResult], target: float) -> bool:
    """Return whether any of these runs has what `target` is a value of, finite or not."""
    name = metric_of(target)
    return any(
        np.isfinite(run.judged_by(name)).any()
        or np.isfinite(run.initially(name))
        or (run.loss_is_lost and name in run.criteria.named)
        for run in runs
    )


def untrained(runs: Iterable[RunResult]) -> bool:
    """Return whether all of these runs simulated only time: then nobody has an accuracy."""
    return all(run.time_only for run in runs)


def judged_on(run: RunResult) -> str:
    """Return which samples a run's accuracy and loss are of: test, train or clients."""
    return str(run.written("evaluation", "on") or "test")


def all_targets(runs: Iterable[RunResult]) -> list[float]:
    """Return what any of the scenarios asks about, as `easiest_first`."""
    runs = list(runs)
    return easiest_first({target for run in runs for target in run.targets}, runs)


def easiest_first(targets: Iterable[float], runs: Iterable[RunResult]) -> list[float]:
    """Return accuracies, the lowest first, and after them other numbers, by what they are of."""
    judged = [(name, what) for run in runs for name, what in run.criteria.named.items()]
    less = {name for name, what in judged if what.better == "less"}

    def ease(target: float) -> tuple[bool, str, float]:
        name = metric_of(target)
        return name != "accuracy", name, -float(target) if name in less else float(target)

    return sorted(targets, key=ease)


def all_judged(runs: Iterable[RunResult]) -> dict[str, "Better"]:
    """Return what the models of any of these runs were judged by, and what of it is better."""
    named: dict[str, Better] = {}
    for run in runs:
        judged = [name for name in run.last_evaluation if name != "accuracy"]
        judged += ["accuracy"] * run.has_accuracy
        judged += [] if run.error is None else [run.error[0]]
        named |= {name: run.criteria.better(name) for name in judged}
    return named


def all_errors(runs: Iterable[RunResult]) -> list[str]:
    """Return the names of the errors that stand in place of an accuracy, in the runs' order."""
    return list(dict.fromkeys(run.error[0] for run in runs if run.error is not None))


def all_metrics(runs: Iterable[RunResult]) -> dict[str, Range]:
    """Return the columns that any of the scenarios measures beside accuracy and loss.

    Each with the least and the most that it can be; of users' own nothing is known.
    """
    ranges: dict[str, Range] = {}
    for run in runs:
        if run.metrics.keys() <= ranges.keys():
            continue
        named = run.criteria.named
        ranges |= {name: named[name].within if name in named else ANY for name in run.metrics}
    return ranges
