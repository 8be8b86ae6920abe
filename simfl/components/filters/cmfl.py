"""CMFL: don't upload updates that run against the global trend.

Luping, Wei & Li, "CMFL: Mitigating Communication Overhead for Federated Learning", ICDCS 2019,
section IV; and the variant that FedACS's authors measured as such (docs/algorithms.md, A.11).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.filters.base import Stage, Update, UpdateFilter, filters


def relevance(update: Update, reference: Update) -> float:
    """Return the share of the parameters `(p,)` whose signs agree, in [0, 1].

    Two zeros agree.  A parameter that is NaN on either side agrees with nothing.
    """
    return float(np.mean(np.sign(update) == np.sign(reference))) if len(update) else 1.0


@filters.register("cmfl")
class Cmfl(UpdateFilter):
    """Keeps the updates whose signs agree enough with a reference direction.

    `variant: published` compares, on the client, with the previous global update, so that a
    rejected update saves its upload (4 bytes of status go up instead) although its compute is
    spent; if nobody is relevant the model stays as it is.  `variant: current_mean` is the one in
    FedACS's code: everybody uploads, the server compares with the mean of this round's updates,
    and if nobody passes, the single most agreeing update counts.  It saves nothing.

    Cost: O(p) per update.
    """

    variant: Literal["published", "current_mean"] = Field(
        "published", description="reference: the last global update, or this round's mean (FedACS)"
    )
    threshold: float | None = Field(
        None,
        ge=0,
        le=1,
        description="smallest share of agreeing signs, v0; default 0.8 (published, section V) or "
        "0.7 (current_mean, FedACS's code)",
    )
    decay: Literal["none", "sqrt"] = Field(
        "none", description="sqrt: the threshold of round t is v0 / sqrt(t) (published, section IV)"
    )

    @property
    @override
    def stage(self) -> Stage:
        return "client" if self.variant == "published" else "server"

    def threshold_at(self, round_: int) -> float:
        """Return the smallest relevance that counts in the 1-based `round_`."""
        default = 0.8 if self.variant == "published" else 0.7
        v0 = default if self.threshold is None else self.threshold
        return v0 / math.sqrt(round_) if self.decay == "sqrt" else v0

    @override
    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        """Without a reference (round 1) everybody is relevant."""
        return reference is None or relevance(update, reference) >= self.threshold_at(round_)

    @override
    def choose(self, updates: Sequence[Update], reference: Update | None, round_: int) -> list[int]:
        """`current_mean` ignores `reference`."""
        if self.variant == "published" or not len(updates):
            return super().choose(updates, reference, round_)
        mean = np.mean(np.asarray(updates, dtype=np.float64), axis=0)
        agreement = np.array([relevance(update, mean) for update in updates])
        kept = np.flatnonzero(agreement >= self.threshold_at(round_))
        return [int(i) for i in kept] if len(kept) else [int(np.argmax(agreement))]
