"""How good a model is: what judging it says, and all that virtual time needs to know of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
