"""Whose models are the best, in words."""

import math
from collections.abc import Callable, Mapping, Sequence

from simfl.report import formats
from simfl.report.comparison.cells import TEXT
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.paired import paired_difference
from simfl.runs.results.statistics import ENOUGH

FEW, MANY = 4, 6
"""Variants that a sentence names, where there are no more than so many; the table has all."""

BySeed = Mapping[int, float]


def named(names: Sequence[str], variants: int) -> str:
    """Return some of so many variants: of many the first, and how many there are besides."""
    return formats.listed(list(names), FEW if variants <= MANY else 1)


def not_told_apart(names: str, seeds: int, what: str) -> str:
    """Say that chance may be why variants differ in `what`, or that nobody can know."""
    if seeds < ENOUGH:
        return f"{seeds} seeds are too few to tell {names} apart in {what}"
    return f"{names} are not distinguishable in {what}"


def best_accuracy(groups: Groups) -> str:
    """Say who had it; somebody has an accuracy."""
    return _best(
        {
            name: {run.seed: run.best_accuracy for run in runs if run.has_accuracy}
            for name, runs in groups.items()
        },
        TEXT["share"],
        max,
    )


def least_error(groups: Groups) -> list[str]:
    """Say who has it at the end, where there is no accuracy (empty: nobody has any)."""
    errors = {
        name: {run.seed: run.error for run in runs if run.error is not None}
        for name, runs in groups.items()
    }
    kinds = {run.error[0] for run in all_runs(groups) if run.error is not None}
    known = {
        name: {seed: value for seed, (_, value) in by_seed.items() if math.isfinite(value)}
        for name, by_seed in errors.items()
    }
    if len(kinds) != 1 or not any(known.values()):
        return []
    [kind] = kinds
    what = f"{'lowest ' if len(groups) > 1 else ''}{formats.metric(kind)}"
    return [f"The {what} at the end is {_best(known, TEXT['number'], min)}."]


def _best(
    values: Mapping[str, BySeed],
    text: Callable[[float], str],
    choose: Callable[[list[float]], float],
) -> str:
    """Return the best mean over seeds, whose it is, and whom chance may have put behind."""
    means = {name: math.fsum(by.values()) / len(by) for name, by in values.items() if by}
    most = choose(list(means.values()))
    names = [name for name, mean in means.items() if mean == most]
    seeds = {len(values[name]) for name in names}
    about = [named(names, len(values))] if len(values) > 1 else []
    if seeds == {1} and len(values) > 1:
        about.append("one seed")
    elif len(seeds) == 1 and seeds != {1}:
        about.append(f"mean of {min(seeds)} seeds")
    told = text(most) + (f" ({', '.join(about)})" if about else "")
    leads = {
        name: paired_difference(values[names[0]], values[name], in_steps=True)
        for name in means
        if name not in names
    }
    level = [name for name, lead in leads.items() if lead.level]
    if level:
        are, others = "is" if len(level) == 1 else "are", named(level, len(values))
        shared = max(leads[name].seeds for name in level)
        if shared < ENOUGH:
            return f"{told}; {shared} seeds are too few to tell {others} from it"
        told += f"; {others} {are} not distinguishable from it"
    return told
