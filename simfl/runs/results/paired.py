"""Two variants compared seed by seed, runs that never got there included.

Variants share random numbers by seed, so what makes a seed hard for one makes it hard for the
other.  A run that ended before it reached a target is *censored*: how long it would have taken is
not known, only that it is longer than the run.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simfl.runs.results.statistics import (
    ANY,
    ENOUGH,
    ROUNDING,
    Figure,
    Interval,
    Range,
    mean_interval,
)


@dataclass(frozen=True)
class Times:
    """What one variant needed to reach a target, by seed.

    Attributes:
        reached: by seed, what it took (None: it never got there).
        followed: by seed, what the run took: so far is known of one that never got there.
        in_steps: whether it comes in steps, those from one evaluation to the next, so that seeds
            may agree by chance.
    """

    reached: Mapping[int, float | None]
    followed: Mapping[int, float]
    in_steps: bool = False


@dataclass(frozen=True)
class Ratio:
    """How many times as much one variant needs as another.

    Attributes:
        value: geometric mean of the ratios by seed.
        interval: 95%, of `value` (None: one seed, no interval).
        seeds: how many seeds both have.
        horizon: where some seed never got there, the least that any of those was followed: each
            cost counts at most as that (the restricted mean), since no more is known of both.
            Infinite: every seed got there.
        coincident: whether fewer seeds than are `ENOUGH` agree, of what comes in steps: 8 rounds
            to 10 twice are no proof that it is always so, though the interval has no width.
    """

    value: float
    interval: Interval | None
    seeds: int
    horizon: float = math.inf
    coincident: bool = False

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out 1: the two differ by more than chance explains."""
        if self.interval is None or self.coincident:
            return False
        return not self.interval.low <= 1 <= self.interval.high

    @property
    def level(self) -> bool:
        """Whether they were compared, and chance may explain that the two differ."""
        return self.interval is not None and not self.distinguishable

    @property
    def surely_less(self) -> bool:
        """Whether the interval lies below 1: the one needs less than the other."""
        return self.interval is not None and self.distinguishable and self.interval.high < 1

    @property
    def tied(self) -> bool:
        """Whether both need the same with each seed, and got there."""
        alike = self.interval is None or self.interval.low == self.interval.high
        return self.value == 1 and alike and math.isinf(self.horizon)


def zero_cost(a: Times, b: Times) -> bool:
    """Whether one of two took nothing with a seed that both have: they have no ratio then."""
    return any(0 in (a.reached[seed], b.reached[seed]) for seed in a.reached.keys() & b.reached)


def paired_ratio(numerator: Times, denominator: Times) -> Ratio | None:
    """Return the ratio of two variants over the seeds that both have; None: there is none.

    Costs must be above zero, and one of them below the horizon: else nothing is known.
    """
    seeds = sorted(numerator.reached.keys() & denominator.reached.keys())
    both = [(times, seed) for times in (numerator, denominator) for seed in seeds]
    horizon = min((t.followed[s] for t, s in both if t.reached[s] is None), default=math.inf)
    taken = [t.reached[s] for t, s in both]
    costs = np.array([horizon if cost is None else min(cost, horizon) for cost in taken])
    if not seeds or not (costs > 0).all() or (costs == horizon).all():
        return None
    above, below = np.log(costs).reshape(2, -1)
    logs = above - below
    logs[np.abs(logs) < ROUNDING] = 0.0
    interval = mean_interval(logs.tolist())
    coincident = False
    if interval is not None:
        coincident = numerator.in_steps and len(seeds) < ENOUGH and interval.low == interval.high
        interval = Interval(math.exp(interval.low), math.exp(interval.high), interval.method)
    return Ratio(math.exp(float(logs.mean())), interval, len(seeds), horizon, coincident)


def paired_difference(
    a: Mapping[int, float],
    b: Mapping[int, float],
    worst: float = math.nan,
    possible: Range = ANY,
    in_steps: bool = False,
) -> Figure:
    """Return `a` minus `b` over the seeds that both have.

    Args:
        a: by seed, NaN where it has none.
        b: likewise; where it has none nothing is known of the median.
        worst: what one that `a` lacks counts as, see `Figure.of`.
        possible: what either of them can be.
        in_steps: whether they come in steps, such as a share of some samples, so that seeds may
            agree by chance.
    """
    seeds = sorted(a.keys() & b.keys())
    if any(math.isnan(b[seed]) for seed in seeds):
        worst = math.nan
    differences = [a[seed] - b[seed] for seed in seeds]
    largest = (max(abs(a[seed]), abs(b[seed])) for seed in seeds)
    pairs = zip(differences, largest, strict=True)
    told = [0.0 if abs(d) < ROUNDING * most else d for d, most in pairs]
    widest = possible[1] - possible[0]
    difference = Figure.of(told, worst, possible=(-widest, widest))
    own = difference.interval
    agree = own is not None and len(seeds) < ENOUGH and own.low == own.high
    return replace(difference, coincident=in_steps and agree)
