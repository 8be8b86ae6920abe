"""The seam of update filters: which of the trained updates are worth uploading, or averaging.

A filter decides with pure functions; the simulation calls it and charges what it costs:

- `stage = "client"`: after training, each participant calls `keep(update, reference, round)` with
  the previous **global** update (the model it received minus the one before) as reference.  A
  rejected client has spent its compute and uploads `STATUS_BYTES` instead of its update.
- `stage = "server"`: everybody uploads; the server calls `choose(updates, reference, round)` before
  it aggregates.

In the first round there is no previous update (`reference` is None) and everything is kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.core.arguments import called
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Floats

STATUS_BYTES = 4
"""What a client uploads to say that it keeps its update to itself, bytes."""

Update = NDArray[np.float32] | Floats
"""`(p,)` a client's model minus the model it received, or the global model's last change."""


Stage = Literal["client", "server", "none"]


class UpdateFilter(Component, ABC):
    """Decides which updates count."""

    @property
    def stage(self) -> Stage:
        """Where it decides: on the client before the upload, or on the server after it."""
        return "client"

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.stage not in get_args(Stage):
            yield f"update filter {self.name!r} has a stage {self.stage!r}, no {get_args(Stage)}"
        if self.stage != "none" and not circumstances.trains:
            given = called("--time-only", "time_only")
            yield f"update filter {self.name!r} needs updates, and {given} computes none"

    @abstractmethod
    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        """Return whether `update` counts, given the `reference` direction, in 1-based `round_`."""

    def choose(self, updates: Sequence[Update], reference: Update | None, round_: int) -> list[int]:
        """Return the ascending positions of those `updates` that count, all having arrived."""
        return [i for i, update in enumerate(updates) if self.keep(update, reference, round_)]


filters: Registry[UpdateFilter] = Registry("filter", "simfl.components.filters", "none")
