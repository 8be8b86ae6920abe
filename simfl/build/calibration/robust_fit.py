"""Times as a sum of columns, fitted: what a few outliers among them say moves little.

Factors are those of the least sum of squared errors, logarithms of fitted over measured seconds,
but that errors far beyond the usual count by their size or less.
"""

import math
from typing import Literal

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from simfl.core.types import Floats

_OUTLIER = 0.02
"""Errors above this count less than by their square."""
_CAUCHY = 2.385 * 1.4826
"""Times the median error: where Cauchy's loss begins to set aside; of normal errors it loses 5%."""


def fit(columns: Floats, seconds: Floats) -> tuple[list[float], float]:
    """Return what the columns are multiplied by to come to the seconds, and how well they do.

    Errors are logarithms of fitted over measured.  (Errors in shares of what was measured would
    count seconds that are too long for less than those as much too short, and rates that scatter
    would come out too high.)  Whoever is far out by the scatter that is then seen is set aside more
    and more, as in Yohai (1987), "High breakdown-point and high efficiency robust estimates for
    regression".

    Args:
        columns: `(n, k)`, such as ones and the bits moved.
        seconds: `(n,)` what was measured.

    Returns:
        `k` factors, none negative; and half the sum of the squared errors, before anybody is set
        aside.
    """
    relative = columns / seconds[:, None]
    scale = 1 / np.abs(relative).max(axis=0)
    matrix = relative * scale
    start = np.maximum(np.linalg.lstsq(matrix, np.ones(len(seconds)))[0], 1e-6)

    def error(factors: Floats) -> Floats:
        return np.asarray(np.log(matrix @ factors))

    def slope(factors: Floats) -> Floats:
        return np.asarray(matrix / (matrix @ factors)[:, None])

    def fitted(start: Floats, loss: Literal["soft_l1", "cauchy"], usual: float) -> OptimizeResult:
        bounds = (0, np.inf)
        return least_squares(error, start, slope, bounds, loss=loss, f_scale=usual, xtol=1e-12)

    sturdy = fitted(start, "soft_l1", _OUTLIER)
    usual = _CAUCHY * float(np.median(np.abs(sturdy.fun)))
    factors = fitted(sturdy.x, "cauchy", usual).x if usual > _OUTLIER else sturdy.x
    return [max(float(factor), 1e-18) for factor in factors * scale], float(sturdy.cost)


def leverage(columns: Floats, factors: Floats) -> float:
    """Return the first factor's standard error where errors, of logarithms, have one of 1.

    Args:
        columns: `(n, k)` as `fit` was given.
        factors: `(k,)` as it has found.
    """
    slopes = columns * factors / (columns @ factors)[:, None]  # of the factors' logarithms
    return float(factors[0] * math.sqrt(max(np.linalg.pinv(slopes.T @ slopes)[0, 0], 0.0)))
