"""FedACS's network for CIFAR-10, that of PyTorch's tutorial (docs/algorithms.md, E)."""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.convolutions import Convolution, convolutional

if TYPE_CHECKING:
    from torch import nn

CONVOLUTIONS = (Convolution(6, 5), Convolution(16, 5))


@models.register("fedacs_cnn")
class FedacsCnn(Model):
    """Two 5x5 convolutions (6, 16), two hidden layers (120, 84); 62,006 parameters on CIFAR-10."""

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return convolutional(self.name, shape, CONVOLUTIONS, (120, 84), classes)
