"""How good a model is: what judging it says, and all that virtual time needs to know of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

_ALWAYS = {"t", "event", "round", "accuracy", "loss"}
"""What every event of one has; all else are metrics that the scenario asks for."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model does on a data set.

    Attributes:
        accuracy: share of right answers, in [0, 1]; None: the loss knows no right ones.
        loss: its mean (NaN: no finite number, for the model has diverged).
        metrics: further measures that the scenario asks for, by their labels (None: no number).
    """

    accuracy: float | None
    loss: float
    metrics: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def recorded(cls, event: Mapping[str, Any]) -> Self:
        """Return the evaluation that an event of the log tells of."""
        metrics = {name: value for name, value in event.items() if name not in _ALWAYS}
        loss = math.nan if event["loss"] is None else event["loss"]
        return cls(event["accuracy"], loss, metrics)
