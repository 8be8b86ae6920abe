"""Oort's arithmetic, of the paper and of its code: what a client scores, and the pacer's steps."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats

Arithmetic = Literal["paper", "code"]
Pacer = Literal["lower", "flat"]


def slowness(duration_s: Floats, preferred_s: float, penalty: float) -> Floats:
    """Return `(n,)` factors ``(T / t)^penalty`` where t exceeds the preferred T, elsewhere 1."""
    late = duration_s > preferred_s  # false where the duration is unknown
    ratio = np.divide(preferred_s, duration_s, out=np.ones_like(duration_s), where=late)
    factor: Floats = ratio**penalty
    return factor


def freshness(round_: int, last_round: NDArray[Any]) -> Floats:
    """Return `(n,)` the bonus for clients not seen for long, ``sqrt(0.1 ln R / last round)``."""
    bonus: Floats = np.sqrt(0.1 * np.log(max(round_, 1)) / np.maximum(last_round, 1))
    return bonus


def scaled(utility: Floats, among: Floats, clip: float, arithmetic: Arithmetic) -> Floats:
    """Return `(n,)` utilities, cut off at the percentile `clip` of some, as shares of their range.

    Args:
        utility: `(n,)`, NaN for clients never tried.
        among: `(m,)` those that the percentile and the range are of, at least one.
        clip: in percent.
        arithmetic: paper: the range is the clipped one; code: that before, from .999 of the least.
    """
    low = float(among.min())
    high = quantile(among, clip, arithmetic)
    width = max(high - low, 1e-12)
    if arithmetic == "code":
        low *= 0.999
        width = max(float(among.max()) - low, 1e-4)
    shares: Floats = (np.minimum(utility, high) - low) / width
    return shares


def quantile(values: Floats, percent: float, arithmetic: Arithmetic) -> float:
    """Return a percentile of `(n,)` values; code: one of them, where the paper interpolates."""
    if arithmetic == "paper":
        return float(np.percentile(values, percent))
    place = min(int(len(values) * percent / 100), len(values) - 1)
    return float(np.sort(values)[place])


def enough(score: Floats, k: int, share: float, arithmetic: Arithmetic) -> float:
    """Return what a client must score to be exploited: a share of the k-th highest of `(n,)`.

    Code: of the (k+1)-th, if there is one.
    """
    place = k if arithmetic == "paper" else min(k + 1, len(score))
    return float(share * np.sort(score)[-place])


def paced(percentile: float, before: float, now: float, step: float, pacer: Pacer) -> float:
    """Return which percentile of durations is preferred from now on.

    Args:
        percentile: that was preferred.
        before: what was earned in the window before the last.
        now: what was earned in the last one.
        step: in percent.
        pacer: lower: slower clients are allowed when less was earned than before; flat: when it
            changed by at most a tenth, and fewer of them when it changed fivefold.
    """
    change = abs(now - before)
    if now < before if pacer == "lower" else change <= 0.1 * before:
        return min(100.0, percentile + step)
    if pacer == "flat" and change >= 5 * before:
        return max(step, percentile - step)
    return percentile
