"""No compression: four bytes a parameter."""

from typing_extensions import override

from simfl.components.compressors.base import Compressor, Update, compressors
from simfl.core.component import overrides
from simfl.core.types import Rng


@compressors.register("none")
class NoCompression(Compressor):
    """Updates arrive as they are, in float32."""

    @property
    @override
    def lossless(self) -> bool:
        """Yes, unless a class that inherits from it compresses after all."""
        return not overrides(self, NoCompression.compress)

    @override
    def compress(self, update: Update, rng: Rng) -> Update:
        return update

    @override
    def size(self, parameters: int) -> int:
        return 4 * parameters
