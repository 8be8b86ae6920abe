"""How long rounds take, or how often updates count: the answer where nothing was trained."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simfl.report import formats
from simfl.report.caveats.side_by_side import unequal_rounds
from simfl.report.comparison.cells import as_long
from simfl.report.measures import DURATION
from simfl.report.page.answer.best import named, not_told_apart
from simfl.runs.results.grouping import Groups
from simfl.runs.results.metric import PER_ROUND, TIME, TIME_PER_UPDATE, figure, times
from simfl.runs.results.paired import Ratio, paired_ratio
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ENOUGH

NEGLIGIBLE = 0.01
"""Share of the time below which waiting for rounds to begin is not told."""
ONE_SEED = "With one seed there is no interval: chance may have made the difference."
SEED_BY_SEED = "Ratios are geometric means, seed by seed, with 95% intervals."


def pace(groups: Groups) -> list[str]:
    """Say whose rounds are the shortest, and the longest; some run has a round.

    Where rounds are of unequal numbers of updates: whose updates count most often.  Who can't be
    told from the first is not said to be slower.
    """
    unequal = bool(unequal_rounds(groups))
    metric = TIME_PER_UPDATE if unequal else PER_ROUND[TIME]
    begun = {
        name: [run for run in runs if math.isfinite(metric.of(run))]
        for name, runs in groups.items()
    }
    begun = {name: runs for name, runs in begun.items() if runs}
    if len(begun) == 1 and not unequal:
        return [_alone(*begun.values())]
    means = {name: figure(runs, metric, None).mean for name, runs in begun.items()}
    (least, fastest), *others = _by_length(means).items()
    if not others:
        what = "An update counts every" if unequal else "A round takes"
        return [f"{what} {least} in the mean, with {named(fastest, len(begun))}."]
    first, (most, slowest) = times(begun[fastest[0]], metric, None), others[-1]
    ratios = {
        name: paired_ratio(times(begun[name], metric, None), first)
        for _, names in others
        for name in names
    }
    level = {
        name: ratio.seeds for name, ratio in ratios.items() if ratio is not None and ratio.level
    }
    if level:
        least += f" to {formats.duration(means[[*level][-1]])}"
    sentences = [_leaders(fastest, level, len(begun), unequal, least)]
    if slowest[0] in level and max(level.values()) >= ENOUGH:
        return sentences
    seeds = max(len(begun[name]) for name in (fastest[0], slowest[0]))
    return [*sentences, *_slowest(slowest, len(begun), most, ratios[slowest[0]], seeds)]


def _by_length(means: Mapping[str, float]) -> dict[str, list[str]]:
    """Return variants, the fastest first, by what is told of them: none is ahead by less."""
    by_length: dict[str, list[str]] = {}
    for name in sorted(means, key=lambda name: means[name]):
        by_length.setdefault(formats.duration(means[name]), []).append(name)
    return by_length


def _leaders(
    fastest: Sequence[str], level: Mapping[str, int], variants: int, unequal: bool, took: str
) -> str:
    """Say who is the fastest.

    Args:
        fastest: whose mean is the least.
        level: who can't be told from them, by how many seeds.
        variants: how many there are.
        unequal: whether rounds are of unequal numbers of updates.
        took: how long rounds of these take, or how often their updates count.
    """
    if level:
        names = named([*fastest, *level], variants)
        what = "how often an update counts" if unequal else "how long a round takes"
        every = "every " if unequal else ""
        return f"{not_told_apart(names, max(level.values()), what)}: {every}{took}."
    names = named(fastest, variants)
    if unequal:
        return f"Updates count most often with {names}: one every {took} in the mean."
    has = "has" if len(fastest) == 1 else "have"
    return f"{names} {has} the shortest rounds: {took} in the mean."


def _slowest(
    slowest: Sequence[str], variants: int, took: str, ratio: Ratio | None, seeds: int
) -> Iterator[str]:
    """Say who is the slowest, by what `ratio` to the first, and how sure that is.

    Args:
        slowest: whose mean is the largest.
        variants: how many there are.
        took: how long rounds of these take, or how often their updates count.
        ratio: of the first of these to the fastest (None: they have no seed in common).
        seeds: of the one of the two that has more.
    """
    takes = "takes" if len(slowest) == 1 else "take"
    told = "" if ratio is None else f" ({as_long(ratio, seeds)})"
    yield f"{named(slowest, variants)} {takes} {took}{told}."
    if ratio is not None and not ratio.tied:
        yield ONE_SEED if ratio.interval is None else SEED_BY_SEED


def _alone(runs: Sequence[RunResult]) -> str:
    """Say how long the runs of one variant took, and how much of that was waiting for rounds."""
    ends_s, rounds = math.fsum(run.end_s for run in runs), sum(run.n_rounds for run in runs)
    lasted_s = math.fsum(float(np.nansum(DURATION.of(run))) for run in runs)
    seeds = f", in the mean of {len(runs)} seeds" if len(runs) > 1 else ""
    told = (
        f"{formats.plural(rounds / len(runs), 'round')} took "
        f"{formats.duration(ends_s / len(runs))} of virtual time{seeds}: "
        f"{formats.duration(lasted_s / rounds)} each"
    )
    if ends_s - lasted_s > NEGLIGIBLE * ends_s:
        told += f", and {formats.duration((ends_s - lasted_s) / len(runs))} before and between them"
    return f"{told}."
