"""Exact sampling from a k-DPP over tens of thousands of items, without decomposing its kernel.

A k-DPP over a few items that were drawn independently, more often where they matter, is one over
all of them if such a draw is kept as often as its determinants ask for.  What is known of the
kernel, roughly its leading eigenvectors, decides how often that is, not what is drawn.

Dereziński, Calandriello & Valko, "Exact Sampling of Determinantal Point Processes with Sublinear
Time Preprocessing", NeurIPS 2019, Algorithm 1; Calandriello, Dereziński & Valko, "Sampling from a
k-DPP without looking at all items", NeurIPS 2020.
"""

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.components.selectors._determinantal import (
    choose_eigenvectors,
    elementary_polynomials,
    sample_projection,
)
from simfl.components.selectors._vectors import Vectors
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids, Rng

FEW, RANKS = 10, (31, 120)
"""Directions in which a kernel is known to choose up to so many items, and more: beyond that what
is drawn is hardly kept more often.  With a vector of ones, 31 are columns that fill registers."""
_ROUNDING = 2e-6
"""What may be wrong with the diagonal of a kernel less what is known of it, as a share of the
diagonal: all pairs are looked at in single precision.  An item may be taken to be more likely than
it is, not less."""


def rank_for(k: int) -> int:
    """Return in how many directions a kernel should be known from which k items are chosen."""
    return RANKS[k > FEW]


_NEAR = 1e-5
"""Squared distances, of points as far as 1 from the origin, that single precision blurs."""
_TILE = 512
"""Rows and columns of distances that are looked at at once: they stay in a processor's cache."""


class Sketch:
    """What is known of FL-DP3S's kernel L = S'S, S the similarities of all pairs of profiles.

    S is never stored: its rows are computed when they are looked at.  O(n^2 (d + r)), O(n (d + r))
    of memory.

    Args:
        profiles: `(n, d)`.
        rank: r, at most n; see `rank_for`.

    Attributes:
        diagonal: `(n,)` of L.
        applied: `(n, r + 1)` S times orthonormal vectors that are near its leading eigenvectors.
        parts: how many times profiles have come.
    """

    def __init__(self, profiles: Vectors, rank: int) -> None:
        self._rank = rank
        # From one of them, so that profiles which are all equal are exactly zero.
        self._origin = profiles[0]
        self._centred = np.zeros((0, profiles.shape[1]))
        self._squares: Floats = np.zeros(0)
        self._basis: Floats = np.zeros((0, 0))
        self._distances_applied: Floats = np.zeros((0, 0))
        self._largest = 0.0
        self.parts = 0
        self.extend(profiles)

    def extend(self, profiles: Vectors) -> None:
        """Take `(m, d)` more, which come last.  O(n m (d + r)), of n with them.

        Vectors that are orthonormal among some of the profiles are so among all, zero for others.
        """
        known, held = self._basis.shape
        fresh = profiles.astype(np.float64) - self._origin
        self._centred = np.concatenate([self._centred, fresh])
        self._squares = np.einsum("ij,ij->i", self._centred, self._centred)
        n = len(self._centred)
        # What all are from some clients spans about what leads (Nyström's method).
        some = np.sort(Seeds(0).stream("landmarks").permutation(n)[: self._rank])
        own, _ = np.linalg.qr(np.column_stack([np.ones(n - known), self._from(some)[:, known:].T]))
        basis = np.zeros((n, held + own.shape[1]))
        basis[:known, :held], basis[known:, held:] = self._basis, own
        applied = self._apply(basis, known)
        applied[:known, :held] += self._distances_applied
        if basis.shape[1] > self._rank + 1:
            turned = _leading(basis, applied / (self._largest or 1.0), self._rank)
            basis, applied = basis @ turned, applied @ turned
        self._basis, self._distances_applied = basis, applied
        self.parts += 1
        self._conclude()

    def _apply(self, basis: Floats, known: int) -> Floats:
        """Return `(n, b)` distances times a basis, but for those of `known` ones from each other.

        In single precision, which is faster, but for blocks with distances that are too small for
        that or may be the largest of all.
        """
        held = self._basis.shape[1]
        old, new = slice(0, held), slice(held, None)
        radius = math.sqrt(float(self._squares.max())) or 1.0
        left, right = _factors(self._centred / radius)
        single, applied = basis.astype(np.float32), np.zeros(basis.shape)
        # Distances are added up less what they are about, so that sums are small, hence exact.
        spread = self._squares.mean() - np.square(self._centred.mean(axis=0)).sum()
        about = math.sqrt(2 * max(float(spread), 0.0)) / radius
        slack = 4 * (left.shape[1] + 8) * float(np.finfo(np.float32).eps) / 2
        room = np.empty(_TILE**2, dtype=np.float32)  # asked for once: fresh memory takes as long
        for rows, columns in _tiles(known, len(basis)):
            shape = rows.stop - rows.start, columns.stop - columns.start
            part = room[: math.prod(shape)].reshape(shape)
            np.matmul(left[rows], right[columns].T, out=part)
            if rows == columns:
                np.fill_diagonal(part, 1.0)
            near, far = float(part.min()), float(part.max())
            distances: NDArray[Any]
            if near > _NEAR and far + slack <= (self._largest / radius) ** 2:
                distances = np.sqrt(part, out=part)
            else:
                exact = self._distances(rows, columns)
                self._largest = max(self._largest, float(exact.max()))
                distances = exact / radius
            if rows == columns:
                np.fill_diagonal(distances, 0.0)
            distances -= about
            applied[rows, new] += distances @ single[columns, new]
            if rows != columns:  # distances are symmetric
                theirs = old if rows.start < known else new
                applied[columns, theirs] += distances.T @ single[rows, theirs]
        applied[:, new] += about * basis[:, new].sum(axis=0)
        applied[known:, old] += about * basis[:, old].sum(axis=0)
        return applied * radius

    def _conclude(self) -> None:
        """Turn distances into similarities."""
        n, squares, centred = len(self._centred), self._squares, self._centred
        applied, ones = self._distances_applied, self._basis.sum(axis=0)
        self.diagonal: Floats = np.ones(n)
        self.applied: Floats = np.zeros((n, 1))
        if self._largest:  # else all are equal, S the identity, and nothing leads
            # S is 1 - distance / largest; a vector of ones is in the basis.
            sums = applied @ ones
            square_sums = n * squares + squares.sum() - 2 * centred @ centred.sum(axis=0)
            self.diagonal = n - (2 * sums - square_sums / self._largest) / self._largest
            self.applied = ones - applied / self._largest

    def similarities(self, rows: Ids) -> Floats:
        """Return `(m, n)` rows of S (Eq. 14)."""
        if self._largest:
            part = self._from(rows)
            part /= self._largest
            return np.subtract(1.0, part, out=part)
        same: Floats = (rows[:, None] == np.arange(len(self._squares))).astype(np.float64)
        return same

    def _from(self, rows: Ids) -> Floats:
        """Return `(m, n)` distances of some from all."""
        part = self._distances(rows, slice(None))
        part[np.arange(len(rows)), rows] = 0.0
        return part

    def _distances(self, rows: Ids | slice, columns: slice) -> Floats:
        """Return `(rows, columns)` distances; below 1e-8 of the largest they may be rounding."""
        part: Floats = (-2.0 * self._centred[rows]) @ self._centred[columns].T
        part += self._squares[rows, None]
        part += self._squares[columns]
        np.sqrt(np.clip(part, 0.0, None, out=part), out=part)
        return part


def _factors(points: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return `(n, d + 2)` twice, whose rows' products are the points' squared distances."""
    squares = np.einsum("ij,ij->i", points, points)[:, None]
    ones = np.ones_like(squares)
    left, right = np.hstack([-2.0 * points, squares, ones]), np.hstack([points, ones, squares])
    return left.astype(np.float32), right.astype(np.float32)


def _leading(basis: Floats, distances_applied: Floats, rank: int) -> Floats:
    """Return `(b, rank + 1)` which mixtures of a basis lead, a vector of ones among what they span.

    Args:
        basis: `(n, b)` orthonormal vectors that span a vector of ones.
        distances_applied: `(n, b)` distances, of which the largest is 1, times the basis.
        rank: how many there are beside the vector of ones.
    """
    ones = basis.sum(axis=0)
    applied = ones - distances_applied
    first = ones / np.linalg.norm(ones)
    others = applied - np.outer(applied @ first, first)
    _, vectors = np.linalg.eigh(others.T @ others)
    mixtures, _ = np.linalg.qr(np.column_stack([first, vectors[:, -rank:]]))
    return mixtures


def _tiles(known: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Yield the blocks of an `(n, n)` symmetric table, but for the first `(known, known)` of it.

    On and above its diagonal.
    """
    old, new = (
        [slice(start, min(start + _TILE, end)) for start in range(begin, end, _TILE)]
        for begin, end in ((0, known), (known, n))
    )
    yield from product(old, new)
    yield from combinations_with_replacement(new, 2)


class IntermediateKDpp:
    """Chooses k-subsets Y of some items with probability in proportion to ``det(L_Y)``, L = S'S.

    Cost: O(a r^2) once; O(n k^4) a try, a few dozen tries for a sample.

    Args:
        sketch: of L.
        ids: `(a,)` the items.
        k: how many are chosen.

    Attributes:
        scale: factor on L, so that about k are chosen where any number may be.
    """

    def __init__(self, sketch: Sketch, ids: Ids, k: int) -> None:
        self._sketch, self._ids, self._k = sketch, ids, k
        diagonal, self._known = sketch.diagonal[ids], (known := sketch.applied[ids])
        values, turned = np.linalg.eigh(known.T @ known)
        values = np.clip(values, 0.0, None)
        rest = max(float(diagonal.sum() - values.sum()), 0.0)
        self.scale = scale = _scale(values, rest, k)
        inside = scale * values / (1 + scale * values)
        part = np.square(known @ turned) @ inside
        # How likely each item is to be chosen, about; and what that comes to.
        weights = scale * (np.clip(diagonal - part, 0.0, None) + _ROUNDING * diagonal)
        self._total = total = float(weights.sum())
        self._weights, self._cumulated = weights, np.cumsum(weights)
        self.points = max(total**2 / 3, 1.0)
        """How many items a try looks at, about; beyond all bounds where no k differ."""
        self._log_kept = float(inside.sum()) - float(np.log1p(scale * values).sum())
        beyond = np.clip(diagonal - np.square(known).sum(axis=1), 0.0, None)
        self._beyond: Floats = beyond + _ROUNDING * diagonal

    def sample(self, rng: Rng, tries: int) -> Ids | None:
        """Return `(k,)` distinct items, ascending; None: so many tries were in vain."""
        for _ in range(tries):
            chosen = self._try(rng)
            if chosen is not None:
                return np.sort(self._ids[chosen])
        return None

    def _try(self, rng: Rng) -> Ids | None:
        """Return `(k,)` distinct positions, or None."""
        many = int(rng.poisson(self.points * math.exp(self._total / self.points)))
        drawn = rng.random(many) * self._cumulated[-1]
        log_u = math.log(rng.random() or math.ulp(0.0))
        if many < self._k:
            return None
        points = np.searchsorted(self._cumulated, drawn, side="right")
        points = np.minimum(points, len(self._ids) - 1)
        # det(I + kernel) is never above exp(-allowed); of these sets, those of k items count.
        allowed = self._log_kept - many * self._total / self.points
        share = np.sqrt(self.points * self._weights[points] / self._total)
        if self.log_at_most(points, share) + allowed < log_u:
            return None
        rows = self._sketch.similarities(self._ids[points])
        kernel = self.scale * (rows @ rows.T) / np.outer(share, share)
        if np.linalg.slogdet(np.eye(many) + kernel).logabsdet + allowed < log_u:
            return None
        values, vectors = np.linalg.eigh(kernel)
        log_values, log_E = elementary_polynomials(np.clip(values, 0.0, None), self._k)
        if log_E[-1, -1] + allowed < log_u:
            return None
        subspace = vectors[:, choose_eigenvectors(log_values, log_E, self._k, rng)]
        found: Ids = points[sample_projection(subspace, rng)]
        return found

    def log_at_most(self, points: Ids, share: Floats) -> float:
        """Return what log det(I + kernel) of some points is not above; it looks at no row of S.

        Fischer's inequality parts what is known from what is beyond it, Hadamard's what is beyond.

        Args:
            points: `(m,)` positions of the items.
            share: `(m,)` by which the rows and columns of their kernel are divided.
        """
        known = self._known[points] / share[:, None]
        inside = np.eye(known.shape[1]) + self.scale * (known.T @ known)
        outside = np.log1p(self.scale * self._beyond[points] / share**2)
        return float(np.linalg.slogdet(inside).logabsdet + outside.sum())


def _scale(values: Floats, rest: float, k: int) -> float:
    """Return the factor on L at which a DPP of any size has k - 1/2 items on the average.

    Args:
        values: `(r,)` leading eigenvalues.
        rest: the sum of all others.
        k: which is about as likely then as any number; and there is such a factor up to rank k.
    """

    def size(log_scale: float) -> float:
        scale = math.exp(log_scale)
        return float((scale * values / (1 + scale * values)).sum()) + scale * rest

    low, high = -100.0, 100.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) < k - 0.5 else (low, middle)
    return math.exp(low)
