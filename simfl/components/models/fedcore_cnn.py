"""FedCore's network for MNIST.

The released code's main program builds this one; the paper calls it a three-layer CNN
(docs/algorithms.md, E).
"""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.convolutions import Convolution, convolutional

if TYPE_CHECKING:
    from torch import nn

CONVOLUTIONS = (Convolution(32, 5, same=True), Convolution(64, 5, same=True))


@models.register("fedcore_cnn")
class FedcoreCnn(Model):
    """Padded 5x5 convolutions (32, 64), one hidden layer (512); 1,663,370 parameters on MNIST."""

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return convolutional(self.name, shape, CONVOLUTIONS, (512,), classes)
