"""What lanes that run together work in, and one step of theirs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch


class Step(NamedTuple):
    """One SGD step of the `a` lanes that still run.

    Attributes:
        x: `(a, width, ...)` inputs.
        targets: `(a, width, ...)` what the outputs should be, as the objective has it.
        weights: `(a, width, 1)` weight of each row in its batch's loss.
        rates: `(a, 1)` learning rates.
        record: to be written, for the objective.
        masks: `(a, width * masks)` dropout factors; None: there is no dropout.
    """

    x: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    rates: torch.Tensor
    record: tuple[torch.Tensor, ...]
    masks: torch.Tensor | None


class Workspace(ABC):
    """Buffers of one chunk of lanes, and how to get their gradients."""

    masks: int
    """Dropout masks needed per row, in numbers."""
    params: Sequence[torch.Tensor]
    """Parts `(l, n_i)` of the models; the optimizer changes them in place."""

    @abstractmethod
    def load(self, models: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return the parts `(l, n_i)` of models `(p,)`, copied into memory laid out like mine."""

    @abstractmethod
    def narrow(self, lanes: int) -> None:
        """Go on with the first `lanes` lanes only."""

    @abstractmethod
    def fused(self, step: Step) -> None:
        """Add gradients to the parameters, and store them nowhere else: plain SGD.

        The step's `weights` hold minus the rate, too.
        """

    @abstractmethod
    def compute(self, step: Step) -> Sequence[torch.Tensor]:
        """Return parts `(a, n_i)` of the gradients of the lanes that still run."""

    @abstractmethod
    def result(self) -> list[torch.Tensor]:
        """Return the models `(p,)`."""
