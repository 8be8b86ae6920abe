"""Half precision: two bytes a parameter (IEEE 754 binary16, rounded to nearest even)."""

import numpy as np
from typing_extensions import override

from simfl.components.compressors.base import Compressor, Update, compressors
from simfl.core.types import Rng

_LARGEST = np.finfo(np.float16).max


@compressors.register("float16")
class Float16(Compressor):
    """Each number is rounded to half precision; beyond its range it is clipped, never infinite."""

    @override
    def compress(self, update: Update, rng: Rng) -> Update:
        return np.clip(update, -_LARGEST, _LARGEST).astype(np.float16).astype(np.float32)

    @override
    def size(self, parameters: int) -> int:
        return 2 * parameters
