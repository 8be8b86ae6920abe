"""With how many seeds one variant was there before another, and what a sign test says of that.

The sign test asks how often a fair coin would fall so unevenly.  It knows nothing of by how much
one was sooner, and so assumes nothing of how costs are spread.
"""

import math
from dataclasses import dataclass

from simfl.runs.results.paired import Times
from simfl.runs.results.statistics import ROUNDING

DECISIVE = 6
"""With so many seeds, all of which fall one way, the p of a sign test is below 0.05."""


@dataclass(frozen=True)
class Signs:
    """Of the seeds that two variants both have.

    Attributes:
        less: with so many the one needed less than the other.
        more: with so many it needed more; with the rest both needed the same, or it is not known,
            since neither got there.
        seeds: how many there are.
    """

    less: int
    more: int
    seeds: int

    @property
    def p(self) -> float:
        """Of the two-sided sign test, without the seeds that are neither."""
        tosses, fewer = self.less + self.more, min(self.less, self.more)
        as_uneven = 2 * sum(math.comb(tosses, n) for n in range(fewer + 1))
        return min(1.0, as_uneven / (1 << tosses))


def signs(own: Times, other: Times) -> Signs:
    """Return with how many seeds a variant needed less than another to reach a target.

    Who got there needed less than who was followed longer and did not.
    """
    shared = own.reached.keys() & other.reached.keys()
    less = sum(_is_less(own, other, seed) for seed in shared)
    return Signs(less, sum(_is_less(other, own, seed) for seed in shared), len(shared))


def _is_less(one: Times, other: Times, seed: int) -> bool:
    cost, others = one.reached[seed], other.reached[seed]
    if cost is None:
        return False
    if others is None:
        return cost <= other.followed[seed]
    return others - cost > ROUNDING * others
