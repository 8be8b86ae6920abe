"""Oort: clients whose data teaches much and whose devices are fast.

Lai et al., "Oort: Efficient Federated Learning via Guided Participant Selection", OSDI 2021,
section 4 and Algorithm 1; docs/algorithms.md, A.12.
"""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt, PrivateAttr
from typing_extensions import override

from simfl.components.selectors._presets import WithPresets
from simfl.components.selectors.base import Answers, RoundOutcome, View, selectors
from simfl.components.selectors.mathematics.draws import grown, log_shares, successive
from simfl.components.selectors.mathematics.oort_scores import (
    Arithmetic,
    Pacer,
    enough,
    freshness,
    paced,
    quantile,
    scaled,
    slowness,
)
from simfl.core.apportion import whole_share
from simfl.core.types import Floats, Ids, Rng


@selectors.register("oort")
class Oort(WithPresets):
    """Exploits clients of high utility, explores new ones, and adapts how slow a client may be.

    A client's utility is its number of samples times the root mean square of its samples' losses;
    clipped and scaled to [0, 1] it gains a bonus with age and shrinks for clients slower than the
    preferred duration, a percentile of all known durations that a pacer moves.  New clients are
    drawn by size.  Asking for more clients than needed (the paper: 1.3 times) is the round
    policy's affair.

    Cost: 4 bytes per participant.  Server: O(N log N).
    """

    needs_training: ClassVar[bool] = True
    wants: ClassVar[tuple[str, ...]] = ("squared_loss",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "code": {
            "clip": 98.0,
            "decay": 0.95,
            "cutoff": 0.7,
            "blacklist": None,
            "pacer": "flat",
            "arithmetic": "code",
            "sample_window": 5.0,
        },
    }

    preset: Literal["paper", "code"] = Field("paper", description="whose defaults to take")
    penalty: float = Field(2.0, ge=0, description="exponent for slow clients, alpha (section 4.3)")
    penalise: Literal["score", "utility"] = Field(
        "score",
        description="what slowness shrinks: the score with its bonus (Algorithm 1, code), or the "
        "utility before it is scaled (Eq. 1)",
    )
    clip: float = Field(
        95.0, gt=0, le=100, description="percentile at which utilities are cut off; code: 98"
    )
    exploration: float = Field(0.9, ge=0, le=1, description="share of new clients at first")
    decay: float = Field(
        0.98,
        gt=0,
        le=1,
        description="decay of that share per round; code: 0.95, and from the first round on",
    )
    least_exploration: float = Field(
        0.2, ge=0, le=1, description="smallest share of new clients, never above the first"
    )
    sample_window: float | None = Field(
        None,
        ge=1,
        description="new clients are drawn from this many times as many, the largest and fastest; "
        "code: 5 (null: from all)",
    )
    cutoff: float = Field(
        0.95, gt=0, le=1, description="share of the last exploited score to reach; code: 0.7"
    )
    blacklist: PositiveInt | None = Field(
        10, description="participations after which a client is blacklisted; code: null"
    )
    blacklist_share: float = Field(0.3, ge=0, le=1, description="most clients to be blacklisted")
    pacer: Pacer = Field(
        "lower",
        description="allow slower clients when utility fell (paper), or when it changed by at most "
        "a tenth, and fewer of them when it changed fivefold (code)",
    )
    arithmetic: Arithmetic = Field(
        "paper",
        description="paper: interpolated percentiles, utilities scaled to the clipped range, a "
        "share of the k-th score, the pacer adds up utilities; code: percentiles are elements of "
        "the sorted list, the range is that before clipping (from .999 of the least) of who can be "
        "chosen, new ones by their size, a share of the (k+1)-th score, the pacer takes means of "
        "utilities",
    )
    percentile: PositiveFloat = Field(
        10.0, le=100, description="percentile of known durations that is preferred at first"
    )
    step: PositiveFloat = Field(5.0, description="points by which the pacer moves the percentile")
    window: PositiveInt = Field(20, description="rounds that the pacer compares, W")
    budget: PositiveInt | None = Field(
        None, description="samples that a client processes per round (null: all)"
    )

    _utility: Floats | None = PrivateAttr(default=None)
    _exploring: float | None = PrivateAttr(default=None)
    _last: int = PrivateAttr(default=-1)  # 0-based round of the last selection
    _percentile: float | None = PrivateAttr(default=None)
    _exploited: Ids | None = PrivateAttr(default=None)  # of whom nothing was heard yet
    _earned: list[float] = PrivateAttr(default_factory=list)
    _sizes: Ids | None = PrivateAttr(default=None)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        self._sizes = np.minimum(view.history.samples, self.budget or np.inf).astype(np.int64)
        self._explore_less(view)
        self._pace()
        ids = view.available
        if len(ids) <= k:
            self._expect(ids)
            return ids
        score, slow = self.scores(view)
        tried = ids[np.isfinite(score[ids])]
        allowed = np.setdiff1d(tried, self._blacklisted(view))
        new = np.setdiff1d(ids, tried)
        # Places that no new client can take are exploited, too.
        places = max(self._places(k, rng), k - len(new))
        exploited = self._exploit(score, allowed, places, rng)
        self._expect(exploited)
        explored = self._explore(new, k - len(exploited), slow, rng)
        chosen = np.concatenate([exploited, explored])
        # Nobody else is left but who is blacklisted.
        rest = np.setdiff1d(tried, chosen)
        best = np.lexsort((-score[rest], ~np.isin(rest, allowed)))[: k - len(chosen)]
        return np.sort(np.concatenate([chosen, rest[best]]))

    def _expect(self, exploited: Ids) -> None:
        """Note of whom the pacer is to hear: several selections may go before that."""
        known = exploited[:0] if self._exploited is None else self._exploited
        self._exploited = np.union1d(known, exploited)

    def _explore_less(self, view: View) -> None:
        """Let the share of new clients decay, once a round."""
        first = self.exploration * (self.decay if self.arithmetic == "code" else 1.0)
        rounds = max(view.round - 1 - self._last, 0)
        share = first if self._exploring is None else self._exploring * self.decay**rounds
        least = min(self.least_exploration, self.exploration)
        self._exploring, self._last = max(share, least), view.round - 1

    def _places(self, k: int, rng: Rng) -> int:
        """Return how many are exploited: of a part of a place (paper), so often as it is large."""
        assert self._exploring is not None
        exact = round(k * (1 - self._exploring), 9)
        whole = int(exact)
        part = exact - whole if self.arithmetic == "paper" else 0.0
        return whole + (part > 0 and bool(rng.random() < part))

    def _explore(self, new: Ids, k: int, slow: Floats, rng: Rng) -> Ids:
        """Return `(m,)` up to `k` of `new`, drawn by size and speed."""
        assert self._sizes is not None
        weight = log_shares(self._sizes[new]) + np.log(slow[new])
        if self.sample_window is not None:
            window = np.argsort(-weight, kind="stable")[: whole_share(self.sample_window, k)]
            new, weight = new[np.sort(window)], weight[np.sort(window)]
        return new[successive(weight, k, rng)]

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        if self._sizes is None or self._exploited is None:
            return
        heard = outcome.extras.get("squared_loss", np.square(outcome.losses))
        squares = np.asarray(heard, dtype=np.float64).reshape(len(outcome.arrived))
        gained = self._sizes[outcome.arrived] * np.sqrt(squares)
        utility = grown(self._utility, len(self._sizes))
        # A loss that is not finite leaves the client tried, without utility.
        known = np.where(np.isnan(utility[outcome.arrived]), 0.0, utility[outcome.arrived])
        utility[outcome.arrived] = np.where(np.isfinite(gained), gained, known)
        self._utility = utility
        exploited = np.intersect1d(outcome.arrived, self._exploited)
        self._exploited = np.setdiff1d(self._exploited, exploited)
        earned = float(utility[exploited].sum())
        if self.arithmetic == "code":
            earned /= max(len(exploited), 1)
        self._earned = [*self._earned[-2 * self.window + 1 :], earned]

    def scores(self, view: View) -> tuple[Floats, Floats]:
        """Return `(n,)` scores, NaN for clients never tried, and `(n,)` factors for slowness."""
        history, duration = view.history, view.history.duration_s
        known = duration[np.isfinite(duration)]
        preferred = float("inf")
        if len(known) and (self._percentile or self.percentile) < 100:
            preferred = quantile(known, self._percentile or self.percentile, self.arithmetic)
        slow = slowness(duration, preferred, self.penalty)
        utility = grown(self._utility, view.clients)
        if self.penalise == "utility":
            utility = utility * slow
        if not np.isfinite(utility).any():
            return utility, slow
        bonus = freshness(view.round, history.last_round)
        among = self._compared(view, utility)
        score = scaled(utility, among, self.clip, self.arithmetic) + bonus
        return (score * slow if self.penalise == "score" else score), slow

    def _compared(self, view: View, utility: Floats) -> Floats:
        """Return `(m,)` the utilities among which one is high or low.

        Paper: of all who were tried.  Code: those above 0 of who can be chosen; a new client's is
        its size, as the authors register it (`training/helper/clientSampler.py`).
        """
        if self.arithmetic == "code":
            assert self._sizes is not None
            ids = np.setdiff1d(view.available, self._blacklisted(view))
            rewards: Floats = np.where(np.isnan(utility), self._sizes, utility)[ids]
            if (rewards > 0).any():
                return rewards[rewards > 0]
        tried: Floats = utility[np.isfinite(utility)]
        return tried

    def _exploit(self, score: Floats, ids: Ids, k: int, rng: Rng) -> Ids:
        """Return `(k,)` of `ids`, drawn by score from those that reach a share of a high score."""
        k = min(k, len(ids))
        if k <= 0:
            return ids[:0]
        good: Ids = ids[score[ids] >= enough(score[ids], k, self.cutoff, self.arithmetic)]
        return good[successive(np.log(np.maximum(score[good], 1e-12)), k, rng)]

    def _blacklisted(self, view: View) -> Ids:
        if self.blacklist is None:
            return np.zeros(0, dtype=np.int64)
        often = view.history.participations
        most = whole_share(self.blacklist_share, len(view.members))
        busiest = view.members[np.argsort(-often[view.members], kind="stable")[:most]]
        tired: Ids = busiest[often[busiest] > self.blacklist]
        return tired

    def _pace(self) -> None:
        """Every `window` rounds, compare what the last ones earned with those before."""
        if self._percentile is None:
            self._percentile = self.percentile
        if len(self._earned) < 2 * self.window:
            return
        before, now = sum(self._earned[: self.window]), sum(self._earned[self.window :])
        self._percentile = paced(self._percentile, before, now, self.step, self.pacer)
        self._earned = self._earned[self.window :]
