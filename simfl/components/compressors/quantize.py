"""Stochastic uniform quantisation.

Alistarh et al., "QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding", NeurIPS
2017, section 3.1, with the largest magnitude as the scale and fixed-width codes.
"""

from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.compressors.base import Compressor, Update, compressors
from simfl.core.types import Rng


@compressors.register("quantize")
class Quantize(Compressor):
    """Signed levels of a `bits`-wide code between plus and minus the largest magnitude.

    Each number goes up or down to a neighbouring level at random, so that its mean is exact.
    """

    bits: Literal[2, 4, 8, 16] = Field(8, description="bits per parameter")
    stochastic: bool = Field(True, description="false: to the nearest level, biased")

    @override
    def compress(self, update: Update, rng: Rng) -> Update:
        scale = float(np.max(np.abs(update), initial=0.0))
        if not (0 < scale < np.inf):
            return update
        levels = 2 ** (self.bits - 1) - 1
        exact = update.astype(np.float64) / scale * levels
        if self.stochastic:
            below = np.floor(exact)
            codes = below + (rng.random(len(update)) < exact - below)
        else:
            codes = np.rint(exact)
        decoded: Update = (codes * (scale / levels)).astype(np.float32)
        return decoded

    @override
    def size(self, parameters: int) -> int:
        """The codes and one scale."""
        return -(-parameters * self.bits // 8) + 4
