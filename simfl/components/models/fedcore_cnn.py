"""FedCore's network for MNIST.

The released code's main program builds this one; the paper calls it a three-layer CNN
(docs/algorithms.md, E).
"""

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers


@models.register("fedcore_cnn")
class FedcoreCnn(ConvolutionalModel):
    """Padded 5x5 convolutions (32, 64), one hidden layer (512); 1,663,370 parameters on MNIST."""

    made_of = Layers((Convolution(32, 5, same=True), Convolution(64, 5, same=True)), (512,))
