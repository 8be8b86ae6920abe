"""FL-DP3S's network for MNIST and Fashion-MNIST.

The paper says two convolutions and two fully connected layers; the widths are those of FAVOR's
simulator, from which its partitions come too (docs/algorithms.md, E).
"""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.convolutions import Convolution, convolutional

if TYPE_CHECKING:
    from torch import nn

CONVOLUTIONS = (Convolution(20, 5), Convolution(50, 5))


@models.register("dp3s_cnn")
class Dp3sCnn(Model):
    """Two 5x5 convolutions (20, 50) and one hidden layer (500); 431,080 parameters on MNIST."""

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return convolutional(self.name, shape, CONVOLUTIONS, (500,), classes)
