"""Rank correlations between the numbers of a device: a Gaussian copula (Nelsen, 2006, ch. 5).

Two normal numbers with Pearson correlation r have Spearman correlation ``6/pi asin(r/2)``, so r is
``2 sin(pi rho / 6)`` for the rank correlation rho that a scenario asks for.  A device's standard
normal numbers are mixed by a factor of that matrix, and each is mapped back to a uniform one: every
number keeps its own distribution, whatever that is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats, Ids

SAMPLES = "samples"
"""The one number that is given, not drawn."""

_TINY = 1e-9


@dataclass(frozen=True)
class Correlations:
    """Which numbers of a device go together, and how.

    Attributes:
        names: the numbers, `SAMPLES` first if it is among them.
        pearson: `(m, m)` correlations of the underlying normal numbers; pairs that nobody asked for
            are independent.
    """

    names: tuple[str, ...]
    pearson: Floats

    @classmethod
    def of(cls, pairs: Mapping[str, float]) -> "Correlations":
        """Return the correlations that ``{"compute~samples": 0.6}`` asks for.

        Raises:
            ValueError: a pair is given twice, or the pairs contradict each other.
        """
        listed = dict.fromkeys(name for pair in pairs for name in pair.split("~"))
        names = tuple(sorted(listed, key=lambda name: name != SAMPLES))
        pearson = np.eye(len(names))
        given: set[frozenset[int]] = set()
        for pair, rho in pairs.items():
            a, b = (names.index(name) for name in pair.split("~"))
            if frozenset((a, b)) in given:
                raise ValueError(f"{pair} is given twice")
            given.add(frozenset((a, b)))
            pearson[a, b] = pearson[b, a] = 2 * np.sin(np.pi * rho / 6)
        lowest = float(np.linalg.eigvalsh(pearson).min()) if names else 1.0
        if lowest < -_TINY:
            raise ValueError(
                "these rank correlations can't all hold at once: two numbers that both follow a "
                "third also follow each other (pairs that are not given are 0; the correlation "
                f"matrix has the eigenvalue {lowest:.3g})"
            )
        return cls(names, pearson)

    def mix(self, uniforms: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return uniform numbers correlated as asked.

        The first of `names` stays as it is; every other is a function of the same device's numbers
        alone, so no device's number depends on another device (except through `sample_ranks`).

        Args:
            uniforms: name -> `(n,)` independent numbers in (0, 1), for each of `names`.
        """
        from scipy.special import ndtr, ndtri

        normal = np.array([ndtri(uniforms[name]) for name in self.names])
        mixed = _factor(self.pearson) @ normal
        return {
            name: uniforms[name] if index == 0 else np.clip(ndtr(row), 2.0**-54, 1 - 2.0**-53)
            for index, (name, row) in enumerate(zip(self.names, mixed, strict=True))
        }


def sample_ranks(samples: Ids, ties: Floats) -> Floats:
    """Return `(n,)` where each device's data size stands among all, in (0, 1).

    Ranks are of the whole fleet: one more device moves everybody's.  Equal sizes are put in random
    order, so that what is correlated with them keeps its distribution.

    Args:
        samples: `(n,)` data sizes.
        ties: `(n,)` uniform numbers that decide between equal sizes.
    """
    ranks = np.empty(len(samples))
    ranks[np.lexsort((ties, samples))] = np.arange(len(samples))
    return (ranks + 0.5) / len(samples)


def _factor(matrix: Floats) -> Floats:
    """Return `(n, n)` the lower triangular L with ``L @ L.T == matrix``, which may be singular."""
    lower = np.zeros_like(matrix)
    for j in range(len(matrix)):
        rest = matrix[j:, j] - lower[j:, :j] @ lower[j, :j]
        if rest[0] > _TINY:
            lower[j:, j] = rest / np.sqrt(rest[0])
    return lower
