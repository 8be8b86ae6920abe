"""FedCor: choose clients by the correlations between their loss changes.

Tang et al., "FedCor: Correlation-Based Active Client Selection Strategy for Heterogeneous Federated
Learning", CVPR 2022, Algorithms 1 and 2 and appendix C.1; docs/algorithms.md, A.5.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.selectors._presets import WithPresets
from simfl.components.selectors._schedule import is_due
from simfl.components.selectors.base import Answers, Probe, Report, View, selectors
from simfl.components.selectors.mathematics.draws import grown, spread
from simfl.components.selectors.mathematics.gaussian_process import Posterior, choose, train
from simfl.core.machine.memory import require_memory
from simfl.core.types import Floats, Ids, Rng

_COPIES = 5
"""Arrays of the embeddings' size, while they are trained: before and after, and of Adam three."""


@selectors.register("fedcor")
class FedCor(WithPresets):
    """Learns an embedding of each client from loss changes, then picks by posterior expectation.

    Rounds are counted from 0 here: rounds 0 to `warmup` choose uniformly, and after each of them,
    from `samples_from` on, everybody's loss at the new model gives one sample of loss changes.
    Later, every `interval` rounds, a throw-away round of randomly chosen clients gives another.
    Who was chosen counts less and less (`beta`) until the next such sample, whether or not an
    update came of it.

    Cost: each warm-up round one loss of every client (a download, a forward pass, 4 bytes up); each
    update round two of these and k trainings and uploads beside.  Server: O(steps N d^2) to learn,
    O(k N (d + k)) to choose.
    """

    needs_training: ClassVar[bool] = True
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "fmnist": {"warmup": 15, "interval": 10, "beta": 0.95, "theta": 0.9},
        "cifar": {"warmup": 20, "interval": 50, "beta": 0.9, "theta": 0.99},
    }

    preset: Literal["fmnist", "cifar"] = Field(
        "fmnist", description="whose warmup, interval, beta and theta are the defaults (C.1)"
    )
    dimension: PositiveInt = Field(15, description="length of an embedding, d (C.1)")
    warmup: NonNegativeInt = Field(
        15, description="last warm-up round, counted from 0, inclusive (5); cifar: 20"
    )
    samples_from: NonNegativeInt = Field(
        0,
        description="first warm-up round, counted from 0, whose loss changes are a sample: 0 "
        "(text), 10 (defaults of the code released in July 2022)",
    )
    interval: PositiveInt | None = Field(
        10, description="rounds between GP updates after the warm-up, null: never (5.1); cifar: 50"
    )
    beta: float = Field(
        0.95, gt=0, le=1, description="annealing factor per selection (Eq. 9); cifar: 0.9"
    )
    theta: float = Field(
        0.9, gt=0, le=1, description="discount of a sample per round of age (C.1); cifar: 0.99"
    )
    noise: PositiveFloat = Field(1e-4, description="variance of an observation (authors' code)")
    noise_in: Literal["diagonal", "denominators"] = Field(
        "diagonal",
        description="where selection adds it: to every client's own variance (code of 2023), or "
        "only where a covariance is divided by a variance (code of July 2022)",
    )
    warmup_reuse: NonNegativeInt = Field(
        10, description="earlier samples used in the warm-up, M (C.1)"
    )
    reuse: NonNegativeInt = Field(1, description="earlier samples used afterwards, M (C.1)")
    warmup_steps: PositiveInt = Field(
        150, description="Adam steps per warm-up round (authors' code)"
    )
    update_steps: PositiveInt = Field(
        100, description="Adam steps per later update (authors' code)"
    )
    learning_rate: PositiveFloat = Field(0.01, description="of Adam (C.1)")

    @model_validator(mode="after")
    def _learns(self) -> Self:
        if self.interval is None and self.samples_from > self.warmup:
            raise ValueError(
                f"samples_from ({self.samples_from}) must be at most warmup ({self.warmup}) where "
                "interval is null: else nothing is ever learned of anybody"
            )
        return self

    _embeddings: Floats | None = PrivateAttr(default=None)
    _annealing: Floats | None = PrivateAttr(default=None)
    # By number of the tier or edge server, each of which asks its own clients:
    _losses: dict[int, Floats] = PrivateAttr(default_factory=dict)
    _samples: dict[int, list[Floats]] = PrivateAttr(default_factory=dict)
    _last: dict[int, int] = PrivateAttr(default_factory=dict)  # 0-based round of the last selection

    def _is_update(self, view: View) -> bool:
        t, last = view.round - 1, self._last.get(view.part, 0)
        return self.interval is not None and t > self.warmup and is_due(self.interval, last, t)

    def _samples_now(self, view: View) -> bool:
        """Return whether losses are compared with those of an earlier round, once a round."""
        t = view.round - 1
        return self.samples_from <= t <= self.warmup + 1 and t > self._last.get(view.part, -1)

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        samples = max(min(rounds, self.warmup + 2) - self.samples_from, 0)
        updates = 0
        if self.interval is not None and rounds > self.warmup:
            updates = (rounds - 1) // self.interval - self.warmup // self.interval
        losses = samples + 2 * updates
        return {"loss": losses * devices, "trial": updates * min(clients, devices)}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        update = self._is_update(view)
        if not len(view.available):
            return None
        if not reports:
            asks = update or self._samples_now(view)
            return Probe("loss", view.available) if asks else None
        if update and len(reports) == 1:
            trained = rng.choice(view.available, min(view.k, len(view.available)), replace=False)
            return Probe("trial", np.sort(trained))
        if update and len(reports) == 2 and len(reports[1].clients):
            return Probe("loss", np.intersect1d(reports[0].clients, view.available), model="trial")
        return None

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        self._grow(view.clients, rng)
        self._learn(view, reports)
        ids, warm_up = view.available, view.round - 1 <= self.warmup
        if warm_up and len(ids) > k:
            return np.sort(rng.choice(ids, size=k, replace=False))
        chosen = ids if len(ids) <= k else self._choose(view, k)
        if not warm_up:
            assert self._annealing is not None
            self._annealing = self._annealing.copy()
            self._annealing[chosen] *= self.beta
        return chosen

    def _choose(self, view: View, k: int) -> Ids:
        """Return `(k,)` of those available, by the embeddings (Algorithm 1)."""
        assert self._embeddings is not None
        assert self._annealing is not None
        p = view.history.samples / view.history.samples.sum()
        on_diagonal = self.noise_in == "diagonal"
        noise, observed = (self.noise, 0.0) if on_diagonal else (0.0, self.noise)
        posterior = Posterior(self._embeddings, noise, p, observed)
        chosen = choose(posterior, self._annealing, view.available, k)
        return np.sort(np.array(chosen, dtype=np.int64))

    @override
    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return the `embeddings` `(N, d)` and the `annealing` factors `(N,)`."""
        if self._embeddings is None or self._annealing is None:
            return {}
        return {"embeddings": self._embeddings.T, "annealing": self._annealing}

    def _grow(self, n: int, rng: Rng) -> None:
        """Give clients that were not there before a random embedding of a common length."""
        known = 0 if self._annealing is None else len(self._annealing)
        if known == n:
            return
        one = f"selector {self.name!r} with {n:,} clients of {self.dimension:,} dimensions each"
        require_memory(_COPIES * 8 * self.dimension * n, one, "a smaller `dimension` needs less")
        if self._embeddings is None or self._annealing is None:
            self._embeddings, self._annealing = np.zeros((self.dimension, 0)), np.ones(0)
        new = rng.normal(size=(self.dimension, n - known)) / np.sqrt(self.dimension)
        if known:
            new *= np.median(np.linalg.norm(self._embeddings, axis=0))
        self._embeddings = np.hstack([self._embeddings, new])
        self._annealing = np.append(self._annealing, np.ones(n - known))

    def _learn(self, view: View, reports: Answers) -> None:
        n, t = view.clients, view.round - 1
        losses = [
            spread(np.where(np.isfinite(report.values), report.values, np.nan), report.clients, n)
            for report in reports
            if report.probe.report == "loss"
        ]
        if losses and self._samples_now(view):
            if view.part in self._losses:
                before = grown(self._losses[view.part], n)
                self._fit(
                    view.part, losses[0] - before, self.warmup_reuse, self.theta, self.warmup_steps
                )
            self._losses[view.part] = losses[0]
        if self._is_update(view):
            self._annealing = np.ones(n)
            if len(losses) == 2:
                gamma = self.theta ** (self.interval or 1)
                self._fit(view.part, losses[1] - losses[0], self.reuse, gamma, self.update_steps)
        self._last[view.part] = t

    def _fit(self, part: int, sample: Floats, reuse: int, gamma: float, steps: int) -> None:
        """Train the embeddings on this loss change `(N,)` and the last ones of the same part."""
        assert self._embeddings is not None
        earlier = [grown(old, len(sample)) for old in self._samples.get(part, [])]
        self._samples[part] = [*earlier, sample][-max(self.warmup_reuse, self.reuse) - 1 :]
        used = np.array(self._samples[part][-reuse - 1 :][::-1])
        discounts = gamma ** np.arange(len(used), dtype=np.float64)
        self._embeddings = train(
            self._embeddings, self.noise, used, discounts, steps, self.learning_rate
        )
