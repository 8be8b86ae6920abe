"""Distributions: how a number differs from device to device.

A distribution stands wherever a scenario gives a device's number, and its parameters are
quantities of that number's dimension.  Each device's value is the inverse distribution function at
the device's own uniform number (`scipy.special`, vectorised), so it depends on nothing else: adding
a group, another distribution or a correlation between numbers shifts nobody else's draw.

`min` and `max` truncate exactly: the uniform is mapped to the quantiles that lie inside, so the
result is the distribution *given* that it lies between them, with no heap of values at the bounds.
(A truncated distribution's mean and median differ from the parameters, which describe it before.)
"""

from simfl.scenario.distributions.base import Constant, Draw
from simfl.scenario.distributions.continuous import Exponential, Uniform
from simfl.scenario.distributions.data_size import DataSize
from simfl.scenario.distributions.discrete import Choice, Zipf
from simfl.scenario.distributions.empirical import Empirical
from simfl.scenario.distributions.normal import Lognormal, Normal

__all__ = ["DISTRIBUTIONS", "Constant", "Draw"]

DISTRIBUTIONS: dict[str, type[Draw]] = {
    draw.distribution: draw
    for draw in (
        Constant, Normal, Lognormal, Uniform, Exponential, Zipf, Choice, Empirical, DataSize,
    )
}  # fmt: skip
