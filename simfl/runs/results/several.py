"""What can be asked of several runs at once."""

from collections.abc import Iterable

from simfl.runs.results.result import RunResult


def have_accuracy(runs: Iterable[RunResult]) -> bool:
    """Return whether any of these runs has an accuracy."""
    return any(len(run.evaluated) for run in runs)


def untrained(runs: Iterable[RunResult]) -> bool:
    """Return whether all of these runs simulated only time: then nobody has an accuracy."""
    return all(run.time_only for run in runs)


def all_targets(runs: Iterable[RunResult]) -> list[float]:
    """Return the accuracies that any of the scenarios asks about, lowest first."""
    return sorted({target for run in runs for target in run.targets})


def all_metrics(runs: Iterable[RunResult]) -> list[str]:
    """Return the columns that any of the scenarios measures beside accuracy and loss."""
    return list(dict.fromkeys(name for run in runs for name in run.metrics))
