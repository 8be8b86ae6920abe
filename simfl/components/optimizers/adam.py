"""Adam (Kingma and Ba, 2015, arXiv:1412.6980, algorithm 1) as in ``torch.optim.Adam``."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from simfl.components.optimizers.base import Memory, Optimizer, optimizers

if TYPE_CHECKING:
    from torch import Tensor

Beta = Annotated[float, Field(ge=0, lt=1)]


@optimizers.register("adam")
class Adam(Optimizer):
    """Steps along the mean gradient over the root of the mean square, both without bias.

    The number of steps, which the bias depends on, is counted from the start of a participation.
    """

    lr: float = Field(0.001, gt=0, description="learning rate, before `training.lr_schedule`")
    betas: tuple[Beta, Beta] = Field(
        (0.9, 0.999),
        description="decay of the mean and of the mean square at each step (beta1, beta2)",
    )
    eps: float = Field(
        1e-8,
        ge=1e-38,
        le=1e38,
        description="added to the root, for numerical stability (epsilon)",
    )
    weight_decay: float = Field(0.0, ge=0, le=1e38, description="L2 term added to the gradient")

    @property
    @override
    def buffers(self) -> int:
        """The two means."""
        return 2

    @property
    @override
    def repeats(self) -> bool:
        return type(self) is Adam

    @override
    def update(
        self, params: "Tensor", gradient: "Tensor", rates: "Tensor", memory: Memory, step: int
    ) -> None:
        self._decay(params, gradient, rates)
        mean, square = memory
        first, second = self.betas
        square.mul_(second).add_((gradient * gradient).mul_(1 - second))
        mean.mul_(first).add_(gradient.mul_(1 - first))
        root = square.sqrt().div_((1 - second**step) ** 0.5).add_(self.eps)
        params.addcmul_(mean / root, rates / (1 - first**step), value=-1)

    def _decay(self, params: "Tensor", gradient: "Tensor", rates: "Tensor") -> None:
        if self.weight_decay:
            gradient.add_(params * self.weight_decay)
