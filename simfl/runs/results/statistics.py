"""One number over seeds: its mean, its spread, and a 95% interval."""

import math
from collections.abc import Sequence
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
    few, rounding = len(values) < FEW, ROUNDING * max(map(abs, values))
    if max(values) - min(values) <= rounding:
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
    # Of what comes in steps, such as shares of a test set, an end may be 0 but for rounding.
    low, high = (0.0 if abs(end) <= rounding else float(end) for end in bounds)
    return Interval(low, high, "BCa bootstrap")


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
        coincident: of a difference, whether fewer seeds than are `ENOUGH` agree, of what comes in
            steps: 2 answers in 60 more, twice, are no proof that it is always so, though the
            interval has no width.
    """

    mean: float
    std: float
    median: float
    missing: int
    seeds: int
    interval: Interval | None
    open: int = 0
    coincident: bool = False

    @property
    def level(self) -> bool:
        """Of a difference: whether it was compared, and chance may explain that it is not 0."""
        if self.interval is None:
            return False
        return self.coincident or self.interval.low <= 0 <= self.interval.high

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
        no_median = not values or (missing and math.isnan(worst))
        return cls(
            mean=math.fsum(known) / len(known) if known and not missing else math.nan,
            std=math.nan if missing else _deviation(known),
            median=math.nan if no_median else median([*known, *[worst] * missing]),
            missing=missing,
            seeds=len(values),
            interval=None if missing else mean_interval(known, possible),
            open=open,
        )


def _deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation, 0 where it is but rounding."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    deviation = float(np.std(values, ddof=1))
    return deviation if deviation > ROUNDING * max(map(abs, values)) else 0.0
