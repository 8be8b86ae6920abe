"""FL-DP3S: diverse cohorts by a k-DPP over profiles of the clients' data.

Zhang et al., "DPP-based Client Selection for Federated Learning with Non-IID Data", ICASSP 2023,
Algorithm 1 and Eq. 11 to 14; docs/algorithms.md, A.7.
"""

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveInt, PrivateAttr
from typing_extensions import override

from simfl.components.selectors._schedule import is_due
from simfl.components.selectors.base import (
    Answers,
    Probe,
    Report,
    Reports,
    Selector,
    View,
    selectors,
)
from simfl.components.selectors.mathematics.determinantal import KDpp, similarity
from simfl.components.selectors.mathematics.intermediate import IntermediateKDpp
from simfl.components.selectors.mathematics.sketch import RANKS, Sketch, rank_for
from simfl.components.selectors.mathematics.vectors import Vectors, distances, present, stored
from simfl.core.circumstances import Circumstances
from simfl.core.machine.memory import require_memory
from simfl.core.types import Flags, Floats, Ids, Rng

logger = logging.getLogger(__name__)

_TRIES = 100
"""So often, at the most, everybody's k-DPP is asked whom it chooses."""

DECOMPOSED = 2000
"""Profiled clients whose kernel is decomposed; of more it is not, where k is not large."""
POINTS = 500
"""Where more would be looked at in a try, it is decomposed after all."""
DRAWS = 1000
"""Tries before it is decomposed after all."""

DERIVED = ("_kernel", "_sketches", "_sampler")
"""What follows from the profiles."""

REPORTS: dict[str, Report] = {
    "fc1": "fc1_profile",
    "gradient": "gradient",
    "representative_gradient": "update",
}


@selectors.register("k_dpp")
class KDppSelector(Selector):
    """Prefers sets of clients whose data profiles lie far apart.

    Everybody is profiled before the first round; whoever could not answer is asked again when it is
    next available, and chosen only if too few others are there.

    Cost: once per client a download and, for `fc1`, a forward pass and 4 bytes per unit of the
    first fully connected layer up (`gradient`: a gradient pass and a model up;
    `representative_gradient`: a local training and a model up).  Server: O(N^2 d + N^3) whenever
    profiles come in, which is mostly once; then O(N k^2) per choice, as often as it takes to choose
    available clients only; where they are so few that it hardly would, O(A^3) for A of them.  Of
    more than 2,000 clients up to about 40 are chosen without the N^3, just as likely: O(N M d)
    whenever M profiles come in (O(N^2 d) if old ones change), then O(N k^4) per choice, and no
    memory of N^2.
    """

    needs_training: ClassVar[bool] = True

    profile: Literal["fc1", "gradient", "representative_gradient"] = Field(
        "fc1",
        description="mean FC-1 pre-activations, mean gradient, or the update of one local training "
        "(Fig. 3)",
    )
    refresh_every: PositiveInt | None = Field(
        None, description="rounds after which all clients are profiled again; null: never (paper)"
    )

    _profiles: Vectors | None = PrivateAttr(default=None)
    _part: Ids | None = PrivateAttr(default=None)  # with which others a profile came; -1: none
    _answered: Flags | None = PrivateAttr(default=None)
    _last: int = PrivateAttr(default=-1)  # 0-based round of the last selection
    _kernel: Floats | None = PrivateAttr(default=None)
    _sketches: dict[int, Sketch] = PrivateAttr(default_factory=dict)  # by rank
    _sampler: tuple[Ids, KDpp] | None = PrivateAttr(default=None)

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        model = circumstances.architecture if self.profile == "fc1" else None
        if model is not None and not model.hidden:
            yield (
                f"selector {self.name!r} needs profiles, outputs of a hidden fully connected "
                "layer, and the model has none"
            )

    def _answered_before(self, view: View) -> Flags:
        answered = np.zeros(view.clients, dtype=bool)
        every = self.refresh_every
        again = every is not None and is_due(every, self._last, view.round - 1)
        if self._answered is not None and not again:
            answered[: len(self._answered)] = self._answered
        return answered

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        every = self.refresh_every or rounds
        return {REPORTS[self.profile]: devices * math.ceil(rounds / every)}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        unknown = view.available[~self._answered_before(view)[view.available]]
        if reports or not len(unknown):
            return None
        return Probe(REPORTS[self.profile], unknown)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        for report in reports:
            self._learn(view, report)
        self._last = view.round - 1
        ids = view.available
        if len(ids) <= k:
            return ids
        known = present(self._profiles, view.clients)[ids]
        profiled, others = ids[known], ids[~known]
        if len(profiled) > k:
            return self._sample(profiled, k, rng)
        extra = rng.choice(others, size=k - len(profiled), replace=False)
        return np.sort(np.concatenate([profiled, extra]))

    def _learn(self, view: View, report: Reports) -> None:
        answered = self._answered_before(view)
        answered[report.clients] = True
        self._answered = answered
        if len(report.clients):
            before = present(self._profiles, view.clients)
            self._profiles = stored(self._profiles, view.clients, report.clients, report.values)
            known = present(self._profiles, view.clients)
            if before[report.clients].any():  # they may differ from what they were
                self._part = np.where(known, 0, -1)
                self._forget()
            elif (fresh := known & ~before).any():
                part = np.where(before, 0, -1)
                if self._part is not None:
                    part[: len(self._part)] = self._part
                part[fresh] = part.max() + 1
                self._part, self._kernel, self._sampler = part, None, None

    def _forget(self) -> None:
        """Forget what follows from the profiles."""
        self._kernel = self._sampler = None
        self._sketches = {}

    def _sample(self, ids: Ids, k: int, rng: Rng) -> Ids:
        """Return `(k,)` of `ids`, by the k-DPP over their profiles."""
        everybody = self._everybody()
        if len(everybody) > DECOMPOSED:
            dpp = IntermediateKDpp(self._sketch(rank_for(k)), _places(everybody, ids), k)
            chosen = dpp.sample(rng, DRAWS) if dpp.points <= POINTS else None
            if chosen is not None:
                return np.sort(everybody[chosen])
            logger.info("k_dpp: the kernel of %d clients is decomposed", len(ids))
        return self._sample_decomposed(ids, k, rng)

    def _sample_decomposed(self, ids: Ids, k: int, rng: Rng) -> Ids:
        """Return `(k,)` of `ids`.

        That is everybody's k-DPP, given that it chooses among them: mostly it is soon seen to do
        so, and nothing needs to be decomposed again.
        """
        everybody = self._everybody()
        share = len(ids) / len(everybody)
        if share < 1 and share**k * _TRIES >= 1:
            dpp = self._k_dpp(everybody, k)
            for _ in range(_TRIES):
                chosen = np.sort(everybody[dpp.sample(k, rng)])
                if np.isin(chosen, ids, assume_unique=True).all():
                    return chosen
        return ids[self._k_dpp(ids, k).sample(k, rng)]

    def _sketch(self, rank: int) -> Sketch:
        """Return what is known of everybody's kernel, as it has come to be known part by part."""
        assert self._profiles is not None
        everybody, sketch = self._everybody(), self._sketches.get(rank)
        of = np.zeros(len(everybody)) if self._part is None else self._part[everybody]
        parts = np.split(everybody, np.flatnonzero(np.diff(of)) + 1)
        for part in parts[sketch.parts :] if sketch else parts:
            if sketch is None:
                sketch = self._sketches[rank] = Sketch(self._profiles[part], rank)
            else:
                sketch.extend(self._profiles[part])
        assert sketch is not None
        return sketch

    def _everybody(self) -> Ids:
        """Return `(n,)` who has a profile; of many, in the order in which profiles came."""
        assert self._profiles is not None
        known = np.flatnonzero(present(self._profiles, len(self._profiles)))
        if len(known) <= DECOMPOSED or self._part is None:
            return known
        return known[np.argsort(self._part[known], kind="stable")]

    def _k_dpp(self, ids: Ids, k: int) -> KDpp:
        """Return the k-DPP over the profiles of `ids`: the full one's kernel, restricted."""
        if self._sampler is None or not np.array_equal(self._sampler[0], ids):
            everybody = self._everybody()
            kernel = self._kernel_of(everybody, _places(everybody, ids))
            self._sampler = ids, KDpp(kernel)
            if self._sampler[1].rank < k:
                logger.info("k_dpp: the kernel has rank %d < %d", self._sampler[1].rank, k)
        return self._sampler[1]

    def _kernel_of(self, everybody: Ids, rows: Ids) -> Floats:
        """Return `(m, m)` L = S'S of some of `everybody`, at the `(m,)` places `rows`."""
        assert self._profiles is not None
        n = len(everybody)
        if len(rows) <= DECOMPOSED < n:  # whatever is at hand, lest a resumed run differ
            S = self._sketch(RANKS[0]).similarities(rows)
            return S @ S.T
        if self._kernel is None:
            # The kernel, a part of it, its eigenvectors, room to find them.
            require_memory(4 * 8 * n**2, f"selector 'k_dpp' with {n:,} profiled clients")
            if n <= DECOMPOSED:
                vectors = self._profiles[everybody]
                S = similarity(distances(vectors, vectors, "L2"))
            else:
                S = self._sketch(RANKS[0]).similarities(np.arange(n))
            self._kernel = S.T @ S
        return self._kernel[np.ix_(rows, rows)]

    @override
    def state_dict(self) -> dict[str, Any]:
        """What follows from the profiles is left out."""
        return {key: value for key, value in super().state_dict().items() if key not in DERIVED}

    @override
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._forget()


def _places(everybody: Ids, ids: Ids) -> Ids:
    """Return `(m,)` where `ids` stand among `everybody`."""
    order = np.argsort(everybody)
    return order[np.searchsorted(everybody, ids, sorter=order)]
