"""What can be asked of several runs at once."""

from collections.abc import Iterable
from contextlib import suppress

from simfl.runs.folder.files import component_name
from simfl.runs.results.error_target import ErrorTarget
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ANY, Range


def have_accuracy(runs: Iterable[RunResult]) -> bool:
    """Return whether any of these runs has an accuracy."""
    return any(len(run.evaluated) for run in runs)


def can_reach(runs: Iterable[RunResult], target: float) -> bool:
    """Return whether any of these runs has what `target` is a value of."""
    if isinstance(target, ErrorTarget):
        return target.error in all_errors(runs)
    return have_accuracy(runs)


def untrained(runs: Iterable[RunResult]) -> bool:
    """Return whether all of these runs simulated only time: then nobody has an accuracy."""
    return all(run.time_only for run in runs)


def judged_on(run: RunResult) -> str:
    """Return which samples a run's accuracy and loss are of: test or train."""
    return str(run.written("evaluation", "on") or "test")


def all_targets(runs: Iterable[RunResult]) -> list[float]:
    """Return the accuracies that any of the scenarios asks about, lowest first."""
    return sorted({target for run in runs for target in run.targets})


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
        own = _ranges(run)
        ranges |= {name: own.get(name, ANY) for name in run.metrics}
    return ranges


def _ranges(run: RunResult) -> dict[str, Range]:
    """Return what simfl's own metrics can be, by column; users' code is not imported for that."""
    from simfl.components.metrics.base import quality_metrics

    ranges: dict[str, Range] = {}
    for written in run.written("evaluation", "metrics") or []:
        if component_name(written) in quality_metrics.names():
            with suppress(Exception):  # another version's option: then nothing is known, either
                metric = quality_metrics.parse(written)
                ranges[metric.label] = metric.within
    return ranges
