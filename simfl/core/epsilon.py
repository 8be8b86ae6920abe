"""Epsilon: the differential privacy that clipped updates with Gaussian noise in their sum spend.

What is protected is whether the updates of one client are there, or zero, in all rounds in which it
was asked; who is asked, and when it answers, is known.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

ORDERS = (*range(2, 65), 96, 128, 192, 256, 384, 512, 1024)
"""Orders of the Renyi divergence, of which that with the smallest epsilon counts."""
ROUNDING = 1e-9
"""By how much of itself a limit as it is printed may be too low."""
KEPT = 4096
"""Results that are kept: a run asks after every round."""


class Spent(NamedTuple):
    """What was spent so far, by the names of columns (None: it is not known).

    Attributes:
        epsilon: by the client whose updates counted most often, exactly.
        epsilon_poisson: an upper bound, had each round asked each client with the same chance.
    """

    epsilon: float | None
    epsilon_poisson: float | None


UNKNOWN = Spent(None, None)


@dataclass(frozen=True)
class Privacy:
    """What every round of a run spends.

    Attributes:
        noise_multiplier: standard deviation of the noise in a sum of updates, over their clip.
        delta: at which epsilon is asked for.
        asked: clients in a round, each of those who can with the same chance (None: chances
            differ).
    """

    noise_multiplier: float
    delta: float
    asked: int | None = None

    def spent(self, most: int, rounds: int, able: int) -> Spent:
        """Return what was spent.

        Args:
            most: updates that counted of the client of which most did.
            rounds: that are over.
            able: devices with samples that never refused.
        """
        sampled = math.inf
        if self.asked is not None and able:
            rate = min(self.asked / able, 1.0)
            sampled = poisson_epsilon(self.noise_multiplier, rate, rounds, self.delta)
        return Spent(*(x if math.isfinite(x) else None for x in (self.of(most), sampled)))

    def of(self, updates: int) -> float:
        """Return the epsilon of a client of which so many `updates` counted, exactly."""
        return gaussian_epsilon(self.noise_multiplier, updates, self.delta)

    def exceeds(self, updates: int, epsilon: float) -> bool:
        """Return whether so many `updates` of a client spend more, rounding aside."""
        return self.of(updates) > epsilon * (1 + ROUNDING)

    def most_within(self, epsilon: float, most: int) -> int:
        """Return how many updates of a client spend no more than `epsilon`; `most`, if as many do.

        One at least, whatever it spends.
        """
        within, beyond = 1, most + 1
        while beyond - within > 1:
            middle = min(2 * within, (within + beyond) // 2)  # few are asked about most often
            within, beyond = (within, middle) if self.exceeds(middle, epsilon) else (middle, beyond)
        return within


def rounds_until(updates: int, rate: float, clients: int) -> int:
    """Return after how many rounds so many `updates` of some client have counted, in the median.

    Args:
        updates: of one client.
        rate: the chance with which each client's counts in a round, by itself.
        clients: how many there are.
    """
    from scipy.special import betainc

    few, enough = updates - 1, updates if rate >= 1 else math.ceil(updates / rate) + 1
    while enough - few > 1:
        rounds = (few + enough) // 2
        one = betainc(updates, rounds - updates + 1, rate)  # of one client as many have counted
        reached = -math.expm1(clients * math.log1p(-one)) if one < 1 else 1.0
        few, enough = (few, rounds) if reached >= 0.5 else (rounds, enough)
    return enough


@lru_cache(KEPT)
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


@lru_cache(KEPT)
def renyi_divergence(order: int, noise_multiplier: float, rate: float) -> float:
    """Return the Renyi divergence of a whole `order` that one round spends, Poisson-sampled.

    Mironov, Talwar & Zhang, 2019, arXiv:1908.10530, section 3.3.
    """
    from scipy.special import gammaln, logsumexp, xlog1py, xlogy

    k = np.arange(order + 1)
    terms = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    terms += xlog1py(order - k, -rate) + xlogy(k, rate) + (k**2 - k) / (2 * noise_multiplier**2)
    return float(logsumexp(terms)) / (order - 1)
