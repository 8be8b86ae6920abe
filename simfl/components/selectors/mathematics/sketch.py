"""What is known of FL-DP3S's kernel over tens of thousands of clients, which is never stored.

Roughly its leading eigenvectors: what `intermediate` samples with (docs/algorithms.md, A.7).
"""

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.components.selectors.mathematics.vectors import Vectors
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids

FEW, RANKS = 10, (31, 120)
"""Directions in which a kernel is known to choose up to so many items, and more: beyond that what
is drawn is hardly kept more often.  With a vector of ones, 31 are columns that fill registers."""
_NEAR = 1e-5
"""Squared distances, of points as far as 1 from the origin, that single precision blurs."""
_TILE = 512
"""Rows and columns of distances that are looked at at once: they stay in a processor's cache."""


def rank_for(k: int) -> int:
    """Return in how many directions a kernel should be known from which k items are chosen."""
    return RANKS[k > FEW]


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
