"""How long rounds take in the mean, from how long they take each device alone."""

import math
from collections.abc import Sequence

import numpy as np

from simfl.core.types import Floats
from simfl.sim.timeline import ROUNDING

DRAWS = 4096
"""Of what has no closed form: its mean is right to 1 / 64 of its deviation."""


def expected_round_s(
    alone_s: Floats, limit_s: float, asked: int, wanted: int, server_s: float
) -> float:
    """Return the mean duration of a synchronous round, in which nobody may arrive by its limit.

    Args:
        alone_s: `(m,)` what a round takes each device that can be asked.
        limit_s: when those are cut off who are not done.
        asked: how many are asked.
        wanted: how many are waited for.
        server_s: how long the server takes to aggregate, if anybody arrives.
    """
    in_time = int((alone_s <= limit_s * (1 + ROUNDING)).sum())
    aggregates = 1 - chance_of_none(len(alone_s), in_time, asked)
    return expected_order(np.minimum(alone_s, limit_s), asked, wanted) + aggregates * server_s


def chance_of_none(n: int, special: int, drawn: int) -> float:
    """Return how likely none of the `special` is among so many `drawn` of n, without replacement.

    >>> round(chance_of_none(4, 1, 2), 12), chance_of_none(4, 3, 2)
    (0.5, 0.0)
    """
    from scipy.special import gammaln

    if drawn > n - special:
        return 0.0
    logs = gammaln(np.array([n - special, n - drawn, n - special - drawn, n]) + 1.0)
    return float(np.exp(logs @ [1.0, 1.0, -1.0, -1.0]))


def expected_order(times: Floats, drawn: int, rank: int) -> float:
    """Return the mean of the `rank`-th smallest of `drawn` of `(n,)` times, without replacement.

    The i-th smallest of n times is it with probability C(i-1, r-1) C(n-i, m-r) / C(n, m).

    >>> expected_order(np.array([1.0, 2.0, 3.0]), 2, 2)  # the maxima 2, 3 and 3
    2.6666666666666665
    """
    if not len(times):
        return math.nan
    ordered, chances = order_statistic(times, drawn, rank)
    return float((chances * ordered).sum() / chances.sum())


def expected_buffer_s(alone_s: Floats, limit_s: float, at_work: int, enough: int) -> float:
    """Return the mean time until `enough` updates have come of clients that are kept at work.

    Whoever is idle is as likely to be asked as any other, so that all are idle for as long in the
    mean, by which so many are at work; the fast come more often.

    Args:
        alone_s: `(m,)` what a participation takes each device that can be asked.
        limit_s: when those are called off who are not done.
        at_work: how many are.
        enough: how many updates are waited for.

    >>> expected_buffer_s(np.array([1.0, 2.0]), math.inf, 2, 3)
    2.0
    """
    from scipy.optimize import brentq

    busy_s = np.minimum(alone_s, limit_s)
    idle_s = 0.0
    if at_work < len(busy_s):
        most_s = float(busy_s.max()) * len(busy_s) / at_work
        idle_s = brentq(lambda idle: (busy_s / (busy_s + idle)).sum() - at_work, 0.0, most_s)
    in_time = alone_s <= limit_s * (1 + ROUNDING)
    arrive_per_s = float((in_time / (busy_s + idle_s)).sum())
    return enough / arrive_per_s if arrive_per_s else math.nan


def expected_longest(times: Sequence[Floats], drawn: int, repeats: int) -> float:
    """Return the mean of the longest of several sums, each of times that come one after the other.

    Such as rounds at edge servers, of which each is as long as whoever takes longest.  It is a mean
    of `DRAWS` draws, always the same ones.

    Args:
        times: per sum `(n,)`, from which in turn `drawn` are drawn without replacement, or all if
            they are fewer, and the largest of these is added.
        drawn: how many.
        repeats: how often.

    >>> expected_longest([np.array([1.0, 1.0]), np.array([3.0])], 2, 2)
    6.0
    """
    rng, longest = np.random.default_rng(0), np.zeros(DRAWS)
    for own in times:
        most = min(drawn, len(own))
        ordered, chances = order_statistic(own, most, most)
        sums = rng.choice(ordered, size=(DRAWS, repeats), p=chances / chances.sum()).sum(axis=1)
        np.maximum(longest, sums, out=longest)
    return float(longest.mean()) if times else math.nan


def order_statistic(times: Floats, drawn: int, rank: int) -> tuple[Floats, Floats]:
    """Return what the `rank`-th smallest of `drawn` of `(n,)` times can be.

    And how likely each is, up to a constant.
    """
    from scipy.special import gammaln

    n = len(times)
    i = np.arange(rank, n - drawn + rank + 1, dtype=np.float64)

    def log_choose(of: Floats, some: int) -> Floats:
        log_ways: Floats = gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(of - some + 1.0)
        return log_ways

    # Up to a constant, C(n, m), which goes when the chances are made to sum to 1.
    logs = log_choose(i - 1, rank - 1) + log_choose(n - i, drawn - rank)
    chances = np.exp(logs - logs.max())
    return np.sort(times)[rank - 1 : n - drawn + rank], chances
