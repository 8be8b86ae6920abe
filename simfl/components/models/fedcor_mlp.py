"""FedCor's and FedGP's perceptron for Fashion-MNIST.

Tang et al., arXiv:2103.13822, section 5; dropout is only in the released code
(docs/algorithms.md, E).
"""

from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.mlp import Mlp

if TYPE_CHECKING:
    from torch import nn


@models.register("fedcor_mlp")
class FedcorMlp(Model):
    """784-64-30-10 with dropout; 52,500 parameters on Fashion-MNIST."""

    dropout: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="on both hidden layers: 0.5 in the code, 0 as the paper's text reads",
    )

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return Mlp(hidden=(64, 30), dropout=self.dropout).build(shape, classes)
