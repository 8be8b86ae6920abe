"""FL-DP3S's network for MNIST and Fashion-MNIST.

The paper says two convolutions and two fully connected layers; the widths are those of FAVOR's
simulator, from which its partitions come too (docs/algorithms.md, E).
"""

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers


@models.register("dp3s_cnn")
class Dp3sCnn(ConvolutionalModel):
    """Two 5x5 convolutions (20, 50) and one hidden layer (500); 431,080 parameters on MNIST."""

    made_of = Layers((Convolution(20, 5), Convolution(50, 5)), (500,))
