"""The differential privacy that a run has spent: epsilon at the delta of its aggregator.

What is protected is whether the updates of one client are there, or zero, in all rounds in which it
was asked; who is asked, and when it answers, is known.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.selectors.uniform import Uniform
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.privacy import why_no_epsilon

ORDERS = (*range(2, 65), 96, 128, 192, 256, 384, 512, 1024)
"""Orders of the Renyi divergence, of which that with the smallest epsilon counts."""


class Terms(NamedTuple):
    """What every round of a run spends.

    Attributes:
        noise_multiplier: standard deviation of the noise in a sum of updates, over their clip.
        delta: at which epsilon is asked for.
        rate: chance of each client to be asked, in all rounds the same (None: it is not).
        why_none: why there is no epsilon ("": there is one).
    """

    noise_multiplier: float
    delta: float
    rate: float | None
    why_none: str


def privacy_spent(
    stages: Sequence[Experiment], able: int, rounds: int, most: int
) -> dict[str, Any] | None:
    """Return what a summary says of privacy; None: the run does not protect any.

    Args:
        stages: its scenario, and what it was continued with.
        able: devices with samples that never refused.
        rounds: that are over.
        most: updates that counted of the client of which most did.
    """
    told = [terms_of(scenario, able) for scenario in stages]
    if not (first := told[0]):
        return None
    why = first.why_none if told.count(first) == len(told) else "the rules have changed on the way"
    alone = sampled = math.inf
    if not why:
        alone = gaussian_epsilon(first.noise_multiplier, most, first.delta)
        if first.rate is not None:
            sampled = poisson_epsilon(first.noise_multiplier, first.rate, rounds, first.delta)
    return {
        "delta": first.delta,
        "epsilon": alone if math.isfinite(alone) else None,
        "epsilon_poisson": sampled if math.isfinite(sampled) else None,
        "why_none": why,
    }


def terms_of(scenario: Experiment, able: int) -> Terms | None:
    """Return what a round of `scenario` spends; None: its aggregator protects nobody.

    Args:
        scenario: one variant.
        able: devices with samples that never refused.
    """
    aggregator = scenario.aggregation
    if not isinstance(aggregator, DpFedAvg):
        return None
    rate, rounds = None, scenario.rounds
    there = all(g.availability.name == "always" and g.battery is None for g in scenario.fleet)
    if type(scenario.selection) is Uniform and there and able:
        rate = min(rounds.policy.asked(rounds.clients) / able, 1.0)
    why = why_no_epsilon(scenario)
    return Terms(aggregator.noise_multiplier, aggregator.delta, rate, why)


def gaussian_epsilon(noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return the epsilon of a client whose updates count in `rounds` rounds, exactly.

    So many Gaussian mechanisms are one with noise shorter by the root of their number (Dong, Roth &
    Su, 2022, arXiv:1905.02383, corollary 3.3), whose delta at an epsilon has a closed form (Balle &
    Wang, 2018, arXiv:1805.06530, theorem 8).
    """
    from scipy.optimize import brentq
    from scipy.special import erfcx, ndtr

    far = math.sqrt(rounds) / noise_multiplier

    def excess(epsilon: float) -> float:
        near, beyond = far / 2 - epsilon / far, far / 2 + epsilon / far
        # exp(epsilon) * ndtr(-beyond), of which either factor may be too large or too small.
        tail = math.exp(-(near**2) / 2) * erfcx(beyond / math.sqrt(2)) / 2
        return float(ndtr(near) - tail) - delta

    if not rounds or excess(0.0) <= 0:
        return 0.0
    # Where Renyi divergences have it, which is more.
    return float(brentq(excess, 0.0, far**2 / 2 + far * math.sqrt(-2 * math.log(delta))))


def poisson_epsilon(noise_multiplier: float, rate: float, rounds: int, delta: float) -> float:
    """Return an upper bound of epsilon if each round asked each client with chance `rate`.

    Each by itself (Poisson sampling), which papers assume: rounds of a fixed number, as simfl draws
    them, are known to spend up to more (Wang, Balle & Kasiviswanathan, 2019, arXiv:1808.00087).
    Renyi divergences become an epsilon as Canonne, Kamath & Steinke (2020, arXiv:2004.00010,
    proposition 12) have it.
    """
    bounds = [gaussian_epsilon(noise_multiplier, rounds, delta)]
    for order in ORDERS:
        spent = rounds * renyi_divergence(order, noise_multiplier, rate)
        spent += math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        bounds.append(spent)
    return max(min(bounds), 0.0)


def renyi_divergence(order: int, noise_multiplier: float, rate: float) -> float:
    """Return the Renyi divergence of a whole `order` that one round spends, Poisson-sampled.

    Mironov, Talwar & Zhang, 2019, arXiv:1908.10530, section 3.3.
    """
    from scipy.special import gammaln, logsumexp, xlog1py, xlogy

    k = np.arange(order + 1)
    terms = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    terms += xlog1py(order - k, -rate) + xlogy(k, rate) + (k**2 - k) / (2 * noise_multiplier**2)
    return float(logsumexp(terms)) / (order - 1)
