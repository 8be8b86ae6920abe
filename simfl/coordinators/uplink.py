"""What becomes of an update on its way to the server."""

import numpy as np
from numpy.typing import NDArray

from simfl.components.compressors.base import Compressor
from simfl.core.seeds import generator


class Uplink:
    """What becomes of updates on their way up: compression, and what each client still owes.

    Attributes:
        compressor: how updates are compressed.
        owed: per client `(p,)` what compression lost so far, with error feedback.
    """

    def __init__(self, compressor: Compressor) -> None:
        self.compressor = compressor
        self.owed: dict[int, NDArray[np.float32]] = {}

    def send(self, client: int, update: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
        """Return what the server receives of `update`, drawn from the participation's `seed`."""
        if self.compressor.error_feedback:
            update = update + self.owed.get(client, np.float32(0))
        received = self.compressor.compress(update, generator(seed))
        if self.compressor.error_feedback:
            self.owed[client] = update - received
        return received
