"""AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101, alg. 2) as in ``torch.optim.AdamW``."""

from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import override

from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.base import optimizers

if TYPE_CHECKING:
    from torch import Tensor


@optimizers.register("adamw")
class AdamW(Adam):
    """Adam whose weight decay shrinks the weights themselves and stays out of the means."""

    weight_decay: float = Field(
        0.01,
        ge=0,
        le=1e38,
        description="weight decay: share of the weights, times the learning rate, that each step "
        "subtracts",
    )

    @property
    @override
    def repeats(self) -> bool:
        return type(self) is AdamW

    @override
    def _decay(self, params: "Tensor", gradient: "Tensor", rates: "Tensor") -> None:
        if self.weight_decay:
            params.mul_(1 - rates * self.weight_decay)
