"""The seam of client optimizers: gradients -> steps, for any number of clients at once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from simfl.core.component import Component
from simfl.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor


Memory = Sequence["Tensor"]
"""What an optimizer remembers from step to step: `buffers` tensors like the parameters."""


class Optimizer(Component, ABC):
    """What a client does with the gradient of a mini-batch.

    Its memory begins anew with each participation and with each coreset: nothing of it travels,
    and a run that is resumed needs none of it.
    """

    lr: float = Field(
        gt=0, description="learning rate, before `training.lr_schedule`", examples=[0.1]
    )
    clip: float | None = Field(None, gt=0, description="largest L2 norm of a step's gradient")

    @property
    def buffers(self) -> int:
        """How many numbers it remembers for each parameter from step to step."""
        return 0

    @property
    def plain(self) -> bool:
        """Whether a step is minus the rate times the gradient, which kernels may do themselves."""
        return False

    @property
    def repeats(self) -> bool:
        """Whether every step is the same elementwise operations, which a GPU may then record.

        `update` is given all parameters as one tensor then, and as `step` a tensor `()`.
        """
        return False

    @abstractmethod
    def update(
        self, params: "Tensor", gradient: "Tensor", rates: "Tensor", memory: Memory, step: int
    ) -> None:
        """Make one step of `a` clients, in place, on one tensor of the model.

        A client's result must have the same bits whoever else is there: elementwise operations
        that IEEE 754 rounds correctly (``+ - * /`` and the square root) have.

        Args:
            params: `(a, ...)` the clients' parameters, to be changed.
            gradient: `(a, ...)` their gradients; may be overwritten.
            rates: `(a, 1)` their learning rates; broadcast over `params`.
            memory: `buffers` tensors like `params`, zero before the first step.
            step: 1 for the first step of the participation.
        """


optimizers: Registry[Optimizer] = Registry("optimizer", "simfl.components.optimizers", "sgd")
