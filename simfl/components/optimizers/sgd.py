"""Stochastic gradient descent as in ``torch.optim.SGD`` (docs/algorithms.md, B.1)."""

from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.optimizers.base import Memory, Optimizer, optimizers

if TYPE_CHECKING:
    from torch import Tensor


@optimizers.register("sgd")
class Sgd(Optimizer):
    """``v = momentum * v + g; w = w - lr * v`` with ``g`` the gradient plus ``weight_decay * w``.

    Without dampening, as PyTorch's default is; with `nesterov` the step is ``g + momentum * v``.
    """

    lr: float = Field(0.1, gt=0, description="learning rate, before `training.lr_schedule`")
    momentum: float = Field(0.0, ge=0, lt=1, description="reset at each participation")
    nesterov: bool = Field(False, description="look ahead along the momentum")
    weight_decay: float = Field(0.0, ge=0, le=1e38, description="L2 term added to the gradient")

    @model_validator(mode="after")
    def _looks_ahead_along_something(self) -> Self:
        if self.nesterov and not self.momentum:
            raise ValueError("`nesterov` needs `momentum` above 0")
        return self

    @property
    @override
    def buffers(self) -> int:
        return int(self.momentum > 0)

    @property
    @override
    def plain(self) -> bool:
        return type(self) is Sgd and not (self.momentum or self.weight_decay)

    @property
    @override
    def repeats(self) -> bool:
        return type(self) is Sgd

    @override
    def update(
        self, params: "Tensor", gradient: "Tensor", rates: "Tensor", memory: Memory, step: int
    ) -> None:
        if self.weight_decay:
            gradient.add_(params, alpha=self.weight_decay)
        if self.momentum:
            [velocity] = memory
            velocity.mul_(self.momentum).add_(gradient)
            if self.nesterov:
                gradient.add_(velocity, alpha=self.momentum)
            else:
                gradient = velocity
        params.addcmul_(gradient, rates, value=-1)
