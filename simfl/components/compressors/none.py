"""No compression: four bytes a parameter."""

import numpy as np

from simfl.components.compressors.base import Compressor, Update, compressors


@compressors.register("none")
class NoCompression(Compressor):
    """Updates arrive as they are, in float32."""

    def compress(self, update: Update, rng: np.random.Generator) -> Update:
        """See `Compressor.compress`."""
        return update

    def size(self, parameters: int) -> int:
        """See `Compressor.size`."""
        return 4 * parameters
