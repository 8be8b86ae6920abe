"""Names of the arrays that everything passes around; shapes are said where they are used."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Params = NDArray[np.float32]
"""A flat parameter vector `(p,)`: the whole model, but for parameters that are frozen and, wherever
clients meet, those that are personal."""
OrderKey = tuple[int, int]
"""An order of a run: its client, and how many orders that was given before; `WorkOrder.key`."""
Corrections = Mapping[OrderKey, Params]
"""What orders, by their keys, add to every gradient of their training: `(p,)` each (SCAFFOLD)."""
Rng = np.random.Generator
"""Where chance comes from; it is always passed in."""
