"""The seam of update compression: what the server receives of an update, and how big it was."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Rng

Update = NDArray[np.float32]


class Compressor(Component, ABC):
    """Shrinks an update on its way up; the model really is made of what arrives."""

    error_feedback: bool = Field(
        False,
        description="whether a client adds what compression lost to its next update (Seide et al., "
        "2014; Karimireddy et al., 2019)",
    )

    @property
    def lossless(self) -> bool:
        """Whether updates arrive bit for bit as they are; `compress` is not even called then."""
        return False

    @abstractmethod
    def compress(self, update: Update, rng: Rng) -> Update:
        """Return what the server decodes, `(p,)`.

        Args:
            update: `(p,)` the client's model minus its base.
            rng: the participation's own stream.
        """

    @abstractmethod
    def size(self, parameters: int) -> int:
        """Return the bytes on the wire of an update of so many parameters."""


compressors: Registry[Compressor] = Registry("compressor", "simfl.components.compressors", "none")
