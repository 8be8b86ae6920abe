"""What came of a tuning, in words: for its page and for the command."""

import math
from collections import Counter
from collections.abc import Callable

from simfl.core.target import metric_of
from simfl.report import formats
from simfl.report.comparison.cells import TEXT
from simfl.runs.results.column import target_text
from simfl.runs.tuning.trials import State, Trial, Tuning, metric_called
from simfl.scenario.language.place import as_written


def answer(tuning: Tuning) -> list[str]:
    """Return what came of it, in a few sentences."""
    best = tuning.best
    counts = Counter(trial.state for trial in tuning.trials)
    states = formats.listed([f"{count} {state}" for state, count in counts.items()])
    tried = f"Of {formats.plural(len(tuning.trials), 'trial')}: {states}."
    if best is None:
        return [f"No trial {_what_none_did(tuning, set(counts))}.", tried]
    seeds = f" in the median of {best.seeds} seeds" if best.seeds > 1 else " (one seed)"
    taken = [
        f"{limit.replace('_', ' ')} {formatter(limit)(value)}"
        for limit, value in best.taken.items()
    ]
    within = f", {formats.listed(taken)}" if taken else ""
    what = f"{'Most' if tuning.more else 'Least'} {tuning.spec.objective}"
    level = [t.name for t in tuning.trials if t.state == "done" and t.cost == best.cost][1:]
    alike = f"; {formats.listed(level, formats.FEW)} came to as much" if level else ""
    told = [f"{what}: {value_text(tuning, best)}{seeds}{within}, by {best.name}{alike}."]
    if (target := tuning.spec.target) is not None and tuning.every > 1 and best.cost > 0:
        looked_at = "Accuracy" if metric_of(target) == "accuracy" else metric_of(target)
        unseen = formats.plural(tuning.every - 1, "round")
        told.append(
            f"{looked_at} was looked at every {tuning.every} rounds: {target_text(target)} may "
            f"have been reached up to {unseen} before that was seen."
        )
    if len(tuning.trials) - counts["refused"] > 1:
        told.append("The best of many is in part luck: other seeds may prefer another choice.")
    return [*told, tried]


def _what_none_did(tuning: Tuning, states: set[State]) -> str:
    """Return what no trial did, of those that could be run."""
    reached = f"reached the objective ({tuning.spec.objective})"
    if states <= {"never", "refused"}:
        return reached
    return "kept to all limits" if "never" not in states else f"{reached} within all limits"


def settings(tuning: Tuning) -> list[str]:
    """Return the options of a command that have what was best (none: nothing was)."""
    chosen = {} if tuning.best is None else tuning.best.parameters
    return [f"--set {f'{path}={as_written(value)}'!r}" for path, value in chosen.items()]


def value_text(tuning: Tuning, trial: Trial) -> str:
    """Return a trial's objective for people."""
    if not math.isfinite(trial.cost):
        return formats.NOTHING
    return formatter(tuning.spec.measured)(tuning.value(trial))


def over_limits(tuning: Tuning, trial: Trial) -> list[str]:
    """Return which limits a trial is over, and how far: ``never heard 52.5% > 20.0%``."""
    return [
        f"{name.replace('_', ' ')} {formatter(name)(trial.taken[name])} > {formatter(name)(most)}"
        for name, most in tuning.spec.limits.items()
        if trial.taken.get(name, 0.0) > most
    ]


def formatter(name: str) -> Callable[[float], str]:
    """Return what writes an objective or a limit for people."""
    return TEXT[metric_called(name).unit]
