"""FedCor's Gaussian process over clients: covariance ``K = X^T X + noise I`` of low rank.

Tang et al., "FedCor: Correlation-Based Active Client Selection Strategy for Heterogeneous Federated
Learning", CVPR 2022, sections 4.2 to 4.5; docs/algorithms.md, A.5.  Nothing here ever forms K.
"""

import math

import numpy as np

from simfl.core.types import Flags, Floats, Ids

_PIECE = 1 << 14
"""Numbers, of each array, that are worked on at a time."""


class Posterior:
    """The covariance of all clients' loss changes, conditioned on one client after another.

    Cost: O(N d) to begin with, then O(N (d + j)) for the j-th condition.

    Args:
        X: `(d, N)` embeddings.
        noise: variance added to the diagonal.
        p: `(N,)` weights of the clients in the global loss.
        observed: variance added only where a covariance is divided by a variance: each client is
            correlated with others as if there were no noise, and observed with it.
    """

    def __init__(self, X: Floats, noise: float, p: Floats, observed: float = 0.0) -> None:
        self._X, self._noise, self._p, self._observed = X, noise, p, observed
        self._columns: list[Floats] = []  # of K's partial Cholesky factor
        self.variance: Floats = np.einsum("dn,dn->n", X, X) + noise
        self.weighted: Floats = X.T @ (X @ p) + noise * p

    def column(self, i: int) -> Floats:
        """Return `(N,)` the covariances of client `i` with everybody."""
        column: Floats = self._X.T @ self._X[:, i]
        column[i] += self._noise
        for known in self._columns:
            column -= known * known[i]
        return column

    def scores(self, annealing: Floats) -> Floats:
        """Return `(N,)` how much each client promises to lower the global loss (Eq. 10 and 12)."""
        safe = np.maximum(self.variance, 1e-12)
        # The deviation times the share of it that is no noise (1 unless noise is only observed).
        scores = annealing * self.weighted / np.sqrt(safe) * (safe / (safe + self._observed))
        return np.where(self.variance < 1e-12, 0.0, scores)

    def condition(self, i: int) -> None:
        """Go on as if the loss change of client `i` were known (Eq. 11)."""
        if self.variance[i] < 1e-12:
            return
        column = self.column(i) / math.sqrt(self.variance[i] + self._observed)
        self._columns.append(column)
        self.weighted = self.weighted - column * (column @ self._p)
        self.variance = np.maximum(self.variance - column**2, 0.0)


def choose(posterior: Posterior, annealing: Floats, candidates: Ids, k: int) -> list[int]:
    """Return `k` of the `candidates` in the order of Algorithm 1; ties go to the lowest id.

    Args:
        posterior: of the loss changes of all N clients; it is conditioned on who is chosen.
        annealing: `(N,)` what each client's score is multiplied by.
        candidates: `(m,)` ids.
        k: how many.
    """
    left, chosen = np.array(candidates), []
    for _ in range(min(k, len(left))):
        best = int(left[np.argmax(posterior.scores(annealing)[left])])
        chosen.append(best)
        left = left[left != best]
        posterior.condition(best)
    return chosen


Group = tuple[Flags, Floats, Floats]
"""Samples that miss the same clients: who reported `(N,)`, what `(N, m)` (0: nothing), discounts
`(m,)`.
"""


def grouped(samples: Floats, discounts: Floats) -> list[Group]:
    """Return samples `(M, N)`, NaN where a client did not report, by the pattern of the missing."""
    seen = np.isfinite(samples)
    groups: list[Group] = []
    for pattern in np.unique(seen, axis=0):
        rows = np.flatnonzero((seen == pattern).all(axis=1))
        if pattern.any():
            reported = np.where(pattern, samples[rows], 0.0).T.copy()
            groups.append((pattern, reported, discounts[rows]))
    return groups


def objective(X: Floats, noise: float, groups: list[Group]) -> tuple[float, Floats] | None:
    """Return the discounted negative log likelihood (Eq. 17) and its gradient `(d, N)`, or None.

    A sample counts with the marginal likelihood of those who reported.  Woodbury's identity keeps
    it at O(M N d + N d^2) for each pattern of missing values, and but for three products all is of
    matrices that do not grow with N.

    Args:
        X: `(d, N)` embeddings.
        noise: variance on the diagonal.
        groups: the samples, see `grouped`.

    Returns:
        The value and the gradient; None if the covariance can't be factorised.
    """
    from scipy.linalg import cho_solve

    value, gradient, eye = 0.0, np.zeros_like(X), np.eye(len(X))
    for pattern, Y, weight in groups:
        present = np.flatnonzero(pattern)
        n, everybody = len(present), len(present) == X.shape[1]
        Z = X if everybody else X.take(present, axis=1)
        factor = _cholesky(Z @ Z.T + noise * eye)  # of A; K^-1 = (I - Z^T A^-1 Z) / noise
        if factor is None:
            return None
        ZY = X @ Y
        solved = cho_solve((factor, True), np.hstack([eye, ZY]), check_finite=False)
        inverse, U = solved[:, : len(X)], solved[:, len(X) :]  # A^-1, and A^-1 Z Y = Z K^-1 Y
        logdet = (n - len(X)) * math.log(noise) + 2 * float(np.log(np.diag(factor)).sum())
        squares = np.einsum("nm,nm->m", Y, Y) - np.einsum("dm,dm->m", ZY, U)
        fit = squares / noise + logdet + n * math.log(2 * math.pi)
        value += 0.5 * float(weight @ fit)
        # w Z K^-1 - (U w) (K^-1 Y)^T, with K^-1 Y = (Y - Z^T U) / noise.
        pull = U * (weight / noise)
        slope = (weight.sum() * inverse + pull @ U.T) @ X
        slope -= pull @ Y.T
        if not everybody:  # to leave somebody out is faster than to add to the others alone
            slope *= pattern
        gradient += slope
    return value, gradient


def _cholesky(A: Floats) -> Floats | None:
    if not np.isfinite(A).all():
        return None
    jitter = 1e-8 * float(np.trace(A)) / len(A)
    for extra in (0.0, jitter, 10 * jitter, 100 * jitter):
        try:
            return np.linalg.cholesky(A + extra * np.eye(len(A))).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            continue
    return None


def train(
    X: Floats, noise: float, samples: Floats, discounts: Floats, steps: int, lr: float
) -> Floats:
    """Return embeddings `(d, N)` after so many Adam steps up the likelihood, starting from `X`.

    The optimizer's state is fresh in each call.  Samples in which fewer than one client reported
    count for nothing; if the likelihood breaks down numerically, training ends early.
    """
    groups = grouped(samples, discounts)
    if not groups:
        return X
    X = X.copy()
    mean, square = np.zeros_like(X), np.zeros_like(X)
    with np.errstate(over="ignore", invalid="ignore"):  # a breakdown is noticed below
        for step in range(1, steps + 1):
            height = objective(X, noise, groups)
            if height is None or not np.isfinite(height[1]).all():
                break
            _adam(X, height[1], mean, square, step, lr)
    return X


def _adam(X: Floats, gradient: Floats, mean: Floats, square: Floats, step: int, lr: float) -> None:
    """Make one step of Adam in place, a piece at a time, so that all of it stays in the cache."""
    scale = math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    tiny = 1e-8 * math.sqrt(1 - 0.999**step)
    whole = [array.reshape(-1) for array in (X, gradient, mean, square)]
    for low in range(0, X.size, _PIECE):
        x, slope, m, v = (array[low : low + _PIECE] for array in whole)
        m *= 0.9
        m += 0.1 * slope
        v *= 0.999
        v += 0.001 * slope**2
        x -= lr * scale * m / (np.sqrt(v) + tiny)
