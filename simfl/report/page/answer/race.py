"""Who reached a target first, in words; who can't be told from the first is not behind it."""

import math
from collections.abc import Iterator, Sequence

from simfl.report import formats
from simfl.report.comparison.cells import as_long, signs_text
from simfl.report.page.answer.best import FEW, MANY, named, not_told_apart
from simfl.report.page.answer.pace import ONE_SEED, SEED_BY_SEED
from simfl.report.page.answer.standings import Standing
from simfl.runs.results.column import target_text
from simfl.runs.results.signs import DECISIVE
from simfl.runs.results.statistics import ENOUGH, Figure


def race(ranked: Sequence[Standing], target: float) -> list[str]:
    """Say who got there when; who can't be told from the first is not said to be behind it."""
    first, text, count = ranked[0], target_text(target), len(ranked)
    if math.isinf(first.time_s.middle):
        missing, seeds = first.time_s.missing, first.time_s.seeds
        ties = [s.name for s in ranked if (s.time_s.missing, s.time_s.seeds) == (missing, seeds)]
        leader = f"{named(ties, count)} reached it" if count > 1 else "It was"
        each = " each" if len(ties) > 1 else ""
        reached = f"{seeds - missing} of {seeds}{each}"
        yet = " yet" if any(standing.time_s.open for standing in ranked) else ""
        return [f"{text} was not{yet} reached with most seeds; {leader} with {reached}."]
    if count == 1:
        return [f"Reached {text} after {_costs(first)}."]
    sentences, behind = _in_front(ranked, text)
    sentences += [*_behind(behind, first, count), *_seeds_ahead(ranked)]
    absent = [standing for standing in ranked if standing.never]
    if never := [standing.name for standing in absent if not standing.time_s.open]:
        sentences.append(f"{named(never, count)} never did.")
    if not_yet := [standing.name for standing in absent if standing.time_s.open]:
        sentences.append(f"Not yet there: {named(not_yet, count)}.")
    return sentences


def _costs(standing: Standing) -> str:
    return (
        f"{formats.duration(standing.time_s.middle)} of virtual time, "
        f"{formats.plural(standing.rounds.middle, 'round')} and "
        f"{formats.size(standing.bytes.middle)} moved{_seeds(standing.time_s)}"
    )


def _in_front(ranked: Sequence[Standing], text: str) -> tuple[list[str], list[Standing]]:
    """Say who got to the target `text` first; return of whom there is more to say, too."""
    first, costs, count = ranked[0], _costs(ranked[0]), len(ranked)
    others = [standing for standing in ranked[1:] if not standing.never]
    if as_soon := _as_soon_by_seeds(others, first, count):
        how = [f"{first.name} reached {text} first on the whole, after {costs}", *as_soon]
        return [f"{'; '.join(how)}."], others
    level = [standing for standing in others if standing.level]
    if not all(_is_tie(standing, first) for standing in level):
        told = _not_told_apart(first, level, text, count)
        return [told, f"{first.name} took {costs}."], others
    if ties := [standing for standing in others if _is_tie(standing, first)]:
        names = named([first.name, *(standing.name for standing in ties)], count)
        before = "" if len(ties) == count - 1 else ", before all others"
        behind = [standing for standing in others if standing not in ties]
        alike = all((tie.rounds, tie.bytes) == (first.rounds, first.bytes) for tie in ties)
        after = costs if alike else f"{formats.duration(first.time_s.middle)} of virtual time"
        return [f"{names} reached {text} equally soon{before}: after {after}."], behind
    return [f"{first.name} reached {text} first: after {costs}."], others


def _as_soon_by_seeds(others: Sequence[Standing], first: Standing, count: int) -> list[str]:
    """Say who, of so many, was no later than the first with the seeds that both have."""
    how = []
    if sooner := [standing.name for standing in others if standing.sooner]:
        how.append(f"seed by seed {named(sooner, count)} took less")
    if alike := [standing for standing in others if _is_first_by_other_seeds(standing, first)]:
        names = named([standing.name for standing in alike], count)
        ratios = [standing.ratio for standing in alike if standing.ratio is not None]
        took = "just as long" if all(ratio.tied for ratio in ratios) else "no longer"
        on = "the one seed" if all(ratio.seeds == 1 for ratio in ratios) else "the seeds"
        how.append(f"on {on} that both have, {names} took {took}")
    return how


def _not_told_apart(first: Standing, level: Sequence[Standing], text: str, count: int) -> str:
    """Say whose times can't be told from the first's; who got there less surely is no equal."""
    shared = max(standing.shared for standing in level)
    as_surely = [standing.name for standing in level if standing.absence <= first.absence]
    if as_surely:
        names = named([first.name, *as_surely], count)
        return f"{not_told_apart(names, shared, f'the time they took to reach {text}')}."
    seeds = f"{first.time_s.seeds - first.time_s.missing} of {first.time_s.seeds} seeds"
    names = named([standing.name for standing in level], count)
    if shared < ENOUGH:
        return f"{first.name} reached {text} with {seeds}; {names} with fewer: too few to compare."
    return (
        f"{first.name} reached {text} with {seeds}; {names}, not distinguishable from it in time, "
        "with fewer."
    )


def _behind(standings: Sequence[Standing], first: Standing, count: int) -> list[str]:
    """Say what those of so many took who were not first, and what their intervals mean."""
    if not standings:
        return []
    taken = [_time_taken(standing, first.time_s.seeds) for standing in standings]
    sentences = [f"{formats.listed(taken, FEW)}."]
    if count > MANY and len(taken) > 1:
        sentences = [f"{taken[0]}; the table has {formats.plural(len(taken) - 1, 'other')}."]
    compared = [s for s in standings if s.ratio is not None and not s.ratio.tied]
    single = [s.name for s in compared if s.ratio is not None and s.ratio.interval is None]
    if single and len(single) == len(compared):
        sentences.append(ONE_SEED)
    elif compared:
        sentences.append(SEED_BY_SEED)
        if count > MANY:
            sentences.append(f"The first of {count:,} is so in part by luck.")
        if single:
            names = named([first.name, *single], count)
            sentences.append(f"{names} have one seed in common: chance may be why they differ.")
    if later := [standing.name for standing in standings if standing.surely_later]:
        sentences.append(
            f"{first.name} was there from the start with each seed, {named(later, count)} with "
            "none: of 0 s there is no ratio."
        )
    at_once = [s.name for s in standings if s.zero_cost and not s.surely_later]
    if at_once:
        names = named([first.name, *at_once], count)
        sentences.append(
            f"Of 0 s, which some seeds took, there is no ratio: chance may be why {names} differ."
        )
    if apart := [standing.name for standing in standings if not standing.shared]:
        names = named(apart, count)
        sentences.append(f"{first.name} has no seed in common with {names}: chance may be why.")
    return sentences


def _seeds_ahead(ranked: Sequence[Standing]) -> Iterator[str]:
    """Say with how many seeds the first was sooner than others that got there; of many the next."""
    told = [
        f"{standing.name} with {signs_text(standing.behind)}"
        for standing in ranked[1 : 2 if len(ranked) > MANY else None]
        if standing.behind is not None and standing.shared >= ENOUGH
        if not (standing.never or standing.surely_later)
        if standing.behind.less + standing.behind.more
    ]
    if told:
        few = max(standing.shared for standing in ranked[1:]) < DECISIVE
        yield (
            f"{ranked[0].name} was sooner than {formats.listed(told, FEW)}; p is the sign test's: "
            "from 0.05 on chance may explain it"
            f"{f', which fewer than {DECISIVE} seeds are never below' if few else ''}."
        )


def _time_taken(standing: Standing, firsts: int) -> str:
    """Say what somebody took beside the first, who has `firsts` seeds."""
    figure = standing.time_s
    seeds = f"{figure.seeds - figure.missing} of {figure.seeds} seeds"
    took = f"{standing.name} got there with {seeds}"
    if math.isfinite(figure.middle):
        took = f"{standing.name} took {formats.duration(figure.middle)}"
        took += f" with {seeds}" if figure.missing else ""
    ratio = standing.ratio
    if ratio is None:
        return took
    told = as_long(ratio, max(figure.seeds, firsts))
    if math.isfinite(ratio.horizon):
        told += f", never counting as {formats.duration(ratio.horizon)}"
    return f"{took} ({told})"


def _seeds(figure: Figure) -> str:
    if figure.seeds == 1:
        return ""
    if not figure.missing:
        return f", in the mean of {figure.seeds} seeds"
    never = "not yet" if figure.open else "never did"
    return f", in the median of {figure.seeds} seeds, of which {figure.missing} {never}"


def _is_tie(standing: Standing, first: Standing) -> bool:
    """Whether two took the same time, as far as it is told, and no interval says more."""
    own, firsts, ratio = standing.time_s, first.time_s, standing.ratio
    if ratio is None and not standing.shared:
        return False
    if ratio is not None and ratio.interval is not None and not ratio.tied:
        return False
    as_many = own.seeds == firsts.seeds or own.middle == firsts.middle == 0
    if math.isinf(own.middle) or own.missing != firsts.missing or not as_many:
        return False
    return formats.duration(own.middle) == formats.duration(firsts.middle)


def _is_first_by_other_seeds(standing: Standing, first: Standing) -> bool:
    """Whether the first is ahead of another only because one of them has further seeds."""
    ratio = standing.ratio
    if ratio is None or not (ratio.tied or (ratio.interval is None and ratio.value <= 1)):
        return False
    return not _is_tie(standing, first)
