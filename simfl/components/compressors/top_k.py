"""Top-k sparsification with error feedback.

Stich, Cordonnier & Jaggi, "Sparsified SGD with Memory", NeurIPS 2018, definition 2.1 and
algorithm 1.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.compressors.base import Compressor, Update, compressors
from simfl.core.types import Rng
from simfl.core.units import Percent


@compressors.register("top_k")
class TopK(Compressor):
    """Only the entries of largest magnitude are sent, as index and value (8 bytes each)."""

    error_feedback: bool = Field(
        True, description="whether a client adds what was not sent to its next update"
    )
    share: Annotated[Percent, Field(gt=0)] = Field(
        0.01,
        description="share of the parameters that is sent: the nearest whole number of them (of "
        "two the even one), at least one",
    )

    def _count(self, parameters: int) -> int:
        return min(parameters, max(1, round(self.share * parameters)))

    @override
    def compress(self, update: Update, rng: Rng) -> Update:
        """Of equal magnitudes the first ones are sent."""
        order = np.argsort(-np.abs(update), kind="stable")[: self._count(len(update))]
        sent = np.zeros_like(update)
        sent[order] = update[order]
        return sent

    @override
    def size(self, parameters: int) -> int:
        return 8 * self._count(parameters)
