"""FedACS's network for CIFAR-10, that of PyTorch's tutorial (docs/algorithms.md, E)."""

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers


@models.register("fedacs_cnn")
class FedacsCnn(ConvolutionalModel):
    """Two 5x5 convolutions (6, 16), two hidden layers (120, 84); 62,006 parameters on CIFAR-10."""

    made_of = Layers((Convolution(6, 5), Convolution(16, 5)), (120, 84))
