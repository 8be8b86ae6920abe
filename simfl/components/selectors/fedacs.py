"""FedACS: avoid skewed clients with a dueling bandit over gradient distances.

Wang et al., "FedACS: Federated Skewness Analytics in Heterogeneous Decentralized Data
Environments", IWQoS 2021, Algorithms 1 and 2, Eq. 13-14 and 27-28; docs/algorithms.md, A.10.
"""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PrivateAttr
from typing_extensions import override

from simfl.components.selectors.base import Answers, RoundOutcome, Selector, View, selectors
from simfl.components.selectors.mathematics.draws import grown
from simfl.core.apportion import whole_share
from simfl.core.component import decided_by_options
from simfl.core.types import Floats, Ids, Rng

_LARGE = 10**9
"""Numbers drawn client by client in a choice, at most; beyond, clients with equal odds are drawn
together: the same distribution from other random numbers."""
_MANY = 200
"""Clients above the threshold from which order statistics are worked out."""


def rewards(updates: NDArray[Any], layers: tuple[int, ...] = ()) -> Floats:
    """Return `(r,)` each update's distance to the mean of all, negated (Eq. 14 and 28).

    An update that is not finite has no part in the mean, and the reward NaN.

    Args:
        updates: `(r, p)` one-step updates or gradients.
        layers: sizes of the tensors whose distances are to be added up (none: one distance).
    """
    reward, finite = np.full(len(updates), np.nan), np.isfinite(updates).all(axis=1)
    if finite.any():
        away = updates[finite] - updates[finite].mean(axis=0, dtype=np.float64)
        parts = np.split(away, np.cumsum(layers)[:-1], axis=1) if layers else [away]
        reward[finite] = -np.sum([np.linalg.norm(part, axis=1) for part in parts], axis=0)
    return reward


def duels(reward: Floats) -> tuple[Floats, Floats]:
    """Return `(r,)` won and lost duels of everybody with everybody (Algorithm 2); a tie is neither.

    A reward that is not a number loses against every one that is.
    """
    reward = np.where(np.isnan(reward), -np.inf, reward)
    beats = reward[:, None] > reward[None, :]
    return beats.sum(axis=1).astype(np.float64), beats.sum(axis=0).astype(np.float64)


def thompson(a: Floats, b: Floats, size: int, rng: Rng) -> list[int]:
    """Return `size` positions: the largest of fresh draws from Beta(a, b) `(n,)`, one by one.

    Exact, yet O(n) cheap operations per position: everybody draws a uniform number, but only where
    it stands for a value above a threshold that few exceed is the Beta quantile worked out.
    """
    from scipy.special import betaincc, betainccinv

    left, above = np.ones(len(a), dtype=bool), np.zeros(len(a))
    picked: list[int] = []
    for _ in range(size):
        if above.sum() < 3:  # expected number of clients above the threshold
            trial = np.sort(rng.beta(a[left], b[left]))
            above = np.where(left, betaincc(a, b, trial[-min(20, len(trial))]), 0.0)
        upper = rng.random(len(a))  # probability that a draw would have been larger still
        best = np.flatnonzero(upper < above)
        if not len(best):
            best = np.flatnonzero(left)
        winner = int(best[np.argmax(betainccinv(a[best], b[best], upper[best]))])
        picked.append(winner)
        left[winner], above[winner] = False, 0.0
    return picked


def thompson_by_groups(a: Floats, b: Floats, size: int, rng: Rng) -> list[int]:
    """Return what `thompson` does, in distribution, at the cost of one client for each (a, b).

    Of clients with the same (a, b) only the largest draw matters, an order statistic; all of them
    are equally likely to be the one.

    Args:
        a: `(n,)` of each client's Beta distribution.
        b: `(n,)` likewise.
        size: how many are picked.
        rng: draws.
    """
    from scipy.special import betaincc, betainccinv

    pairs, group, left = np.unique(
        np.stack([a, b]), axis=1, return_inverse=True, return_counts=True
    )
    a, b = pairs
    members = np.split(
        np.lexsort((rng.random(group.size), group.reshape(-1))), np.cumsum(left)[:-1]
    )
    above: Floats = np.zeros(len(left))
    picked: list[int] = []
    for _ in range(size):
        if left @ above < 3:
            above = np.asarray(betaincc(a, b, _exceeded_by(_MANY, a, b, left)), np.float64)
        with np.errstate(divide="ignore"):
            # (1 - upper)^left is uniform: the distribution of the largest of `left` draws.
            upper = -np.expm1(np.log(rng.random(len(left))) / left)
        best = np.flatnonzero((upper < above) & (left > 0))
        if not len(best):
            best = np.flatnonzero(left)
        winner = int(best[np.argmax(betainccinv(a[best], b[best], upper[best]))])
        left[winner] -= 1
        picked.append(int(members[winner][left[winner]]))
    return picked


def _exceeded_by(many: int, a: Floats, b: Floats, left: Ids) -> float:
    """Return about what so many of one draw of each client exceed."""
    from scipy.special import betaincc

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if left @ betaincc(a, b, middle) > many else (low, middle)
    return low


@selectors.register("fedacs")
class FedAcs(Selector):
    """Thompson sampling finds a pool of little skewed clients; a round draws uniformly from it.

    Each participant is rewarded for a small distance of its gradient to the participants' mean;
    of each pair, the better one wins a duel.  A client with A wins and B losses draws from
    Beta(A + 1, B + 1), and the largest draw joins the pool, again and again with fresh draws.

    Cost: `one_step` a gradient pass and a model up per participant; `reuse_update` nothing.
    Server: O(P N) uniform numbers to choose, P the size of the pool (`fast`: O(N log N)); from
    a billion of them on O(P G), G the number of different records (same distribution);
    O(k p + k^2) to learn.
    """

    needs_training: ClassVar[bool] = True

    tolerance: float = Field(
        0.4,
        gt=0,
        le=1,
        description="size of the pool as a share of all clients, or of a tier's or edge server's, "
        "lambda (IV-A)",
    )
    learning_rate: PositiveFloat = Field(
        1.0, description="what a duel adds to A or B, eta (section IV-A)"
    )
    reward: Literal["one_step", "reuse_update"] = Field(
        "one_step",
        description="compare full-batch gradients (Eq. 6, authors' code) or the trained updates",
    )
    norm: Literal["global", "layer_sum"] = Field(
        "global", description="one L2 norm (paper), or the sum of each tensor's (authors' code)"
    )
    fast: bool = Field(
        False,
        description="draw once and take the largest: another distribution than Algorithm 1's",
    )

    _wins: Floats | None = PrivateAttr(default=None)
    _losses: Floats | None = PrivateAttr(default=None)
    _trace: list[float] = PrivateAttr(default_factory=list)

    @decided_by_options
    def needs_updates(self) -> bool:
        """Whether it compares the trained updates."""
        return self.reward == "reuse_update"

    @decided_by_options
    def wants(self) -> tuple[str, ...]:
        """Participants' gradients at the model they received, unless updates are compared."""
        return () if self.needs_updates else ("gradient",)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        ids = view.available
        wins, losses = self._counts(view.clients)
        if len(ids) <= k:
            return ids
        size = max(whole_share(self.tolerance, len(view.members)), k)
        pool = ids if len(ids) <= size else self._pool(ids, size, wins, losses, rng)
        return np.sort(rng.choice(pool, size=k, replace=False))

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        """Rewards of the participants, then their duels."""
        updates = outcome.updates if self.needs_updates else outcome.extras.get("gradient")
        if updates is None or not len(outcome.arrived):
            return
        reward = rewards(updates, outcome.layers if self.norm == "layer_sum" else ())
        wins, losses = self._counts(int(outcome.arrived.max()) + 1)
        won, lost = duels(reward)
        wins[outcome.arrived] += self.learning_rate * won
        losses[outcome.arrived] += self.learning_rate * lost
        finite = reward[np.isfinite(reward)]
        self._trace = [*self._trace, float(finite.mean()) if len(finite) else float("nan")]

    @override
    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return duels won and lost `(N,)`, and each round's mean `reward`."""
        if self._wins is None or self._losses is None:
            return {}
        return {"wins": self._wins, "losses": self._losses, "reward": np.array(self._trace)}

    def _pool(self, ids: Ids, size: int, wins: Floats, losses: Floats, rng: Rng) -> Ids:
        """Return `(size,)` of `ids`: Algorithm 1, lines 3 to 10."""
        a, b = wins[ids] + 1, losses[ids] + 1
        if self.fast:
            return ids[np.sort(np.argsort(-rng.beta(a, b), kind="stable")[:size])]
        draw = thompson if size * len(ids) <= _LARGE else thompson_by_groups
        return ids[np.sort(np.array(draw(a, b, size, rng), dtype=np.int64))]

    def _counts(self, n: int) -> tuple[Floats, Floats]:
        """Return `(n,)` duels won and `(n,)` lost, zeros for clients that were not there before."""
        wins, losses = grown(self._wins, n, 0.0), grown(self._losses, n, 0.0)
        self._wins, self._losses = wins, losses
        return wins, losses
