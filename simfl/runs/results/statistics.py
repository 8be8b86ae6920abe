"""Statistics over seeds: intervals, paired comparisons, runs that never got there.

Variants share random numbers by seed, so they are compared seed by seed: what makes a seed hard for
one makes it hard for the other.  A run that ended before it reached a target is *censored*: how
long it would have taken is not known, only that it is longer than the run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from simfl.core.seeds import Seeds
from simfl.core.types import Floats

CONFIDENCE = 0.95
FEW = 30
"""With fewer values than this Student's t is used.  Of ten values a bootstrap's 95% interval holds
the truth nine times in ten, and of six less than that, for it knows nothing of what lies beyond its
values: Hesterberg (2015), "What Teachers Should Know About the Bootstrap".  Of paired differences,
which chance alone makes symmetric, Student's holds it 19 times in 20."""
ENOUGH = 3
"""Values whose interval says something: that of two holds almost anything."""
RESAMPLES = 9999
ROUNDING = 1e-12
"""What is smaller than this, beside what it comes from, is rounding."""


@dataclass(frozen=True)
class Interval:
    """A 95% interval.

    Attributes:
        low: its start.
        high: its end.
        method: how it was found.
    """

    low: float
    high: float
    method: Literal["BCa bootstrap", "Student's t"]


Range = tuple[float, float]
"""The least and the most that a number can be."""
ANY: Range = (-math.inf, math.inf)


def mean_interval(values: Sequence[float], possible: Range = ANY) -> Interval | None:
    """Return the 95% interval of the mean of `values`; None: one value says nothing of spread.

    What lies beyond what is `possible` is no part of it: of two seeds Student's t would reach above
    100% of accuracy.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    few = len(values) < FEW
    if max(values) - min(values) <= ROUNDING * max(map(abs, values)):
        return Interval(values[0], values[0], "Student's t" if few else "BCa bootstrap")
    if few:
        return _student(np.asarray(values, dtype=np.float64), possible)
    from scipy.stats import bootstrap

    bounds = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=Seeds(0).stream("bootstrap"),
    ).confidence_interval
    return Interval(float(bounds.low), float(bounds.high), "BCa bootstrap")


def _student(values: Floats, possible: Range) -> Interval:
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2))
    half = quantile * float(values.std(ddof=1)) / math.sqrt(len(values))
    middle = float(values.mean())
    low, high = max(middle - half, possible[0]), min(middle + half, possible[1])
    return Interval(low, high, "Student's t")


@dataclass(frozen=True)
class Figure:
    """One number over seeds.

    Attributes:
        mean: over all seeds (NaN: some seed lacks it, for a mean over those that got there would
            favour a variant for failing on the seeds that are hard).
        std: sample standard deviation over all seeds (NaN: there is one, or some seed lacks it).
        median: over all seeds, one that lacks it counting as worse than all others (infinite: at
            least half of them do; NaN: no seeds).
        missing: seeds without it, e.g. that never reached the target.
        seeds: how many seeds there are.
        interval: 95%, of the mean (None: there is no mean, or one seed, no interval).
        open: how many of the missing may still get it: their runs have not ended.
    """

    mean: float
    std: float
    median: float
    missing: int
    seeds: int
    interval: Interval | None
    open: int = 0

    @property
    def middle(self) -> float:
        """The mean, or the median where some seed lacks it."""
        return self.median if self.missing else self.mean

    @classmethod
    def of(
        cls,
        values: Sequence[float | None],
        worst: float = math.inf,
        open: int = 0,
        possible: Range = ANY,
    ) -> "Figure":
        """Return the figure of one value per seed, None or NaN where there is none.

        Args:
            values: by seed.
            worst: what one that lacks it counts as in the median: negative where more is better,
                NaN where that is not known, and then there is no median.
            open: how many of those that lack it may still get it.
            possible: what it can be.
        """
        known = [value for value in values if value is not None and not math.isnan(value)]
        missing = len(values) - len(known)
        return cls(
            math.fsum(known) / len(known) if known and not missing else math.nan,
            math.nan if missing else _deviation(known),
            math.nan
            if not values or (missing and math.isnan(worst))
            else median([*known, *[worst] * missing]),
            missing,
            len(values),
            None if missing else mean_interval(known, possible),
            open,
        )


def _deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation, 0 where it is but rounding."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    deviation = float(np.std(values, ddof=1))
    return deviation if deviation > ROUNDING * max(map(abs, values)) else 0.0


@dataclass(frozen=True)
class Times:
    """What one variant needed to reach a target, by seed.

    Attributes:
        reached: by seed, what it took (None: it never got there).
        followed: by seed, what the whole run took: so far is known of one that never got there.
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
) -> Figure:
    """Return `a` minus `b` over the seeds that both have.

    Args:
        a: by seed, NaN where it has none.
        b: likewise; where it has none nothing is known of the median.
        worst: what one that `a` lacks counts as, see `Figure.of`.
        possible: what either of them can be.
    """
    seeds = sorted(a.keys() & b.keys())
    if any(math.isnan(b[seed]) for seed in seeds):
        worst = math.nan
    differences = [a[seed] - b[seed] for seed in seeds]
    largest = (max(abs(a[seed]), abs(b[seed])) for seed in seeds)
    pairs = zip(differences, largest, strict=True)
    told = [0.0 if abs(d) < ROUNDING * most else d for d, most in pairs]
    widest = possible[1] - possible[0]
    return Figure.of(told, worst, possible=(-widest, widest))
