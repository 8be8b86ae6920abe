"""FedCor's and FedGP's network for CIFAR-10.

Tang et al., arXiv:2103.13822, section 5 (docs/algorithms.md, E).
"""

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers


@models.register("fedcor_cnn")
class FedcorCnn(ConvolutionalModel):
    """3x3 convolutions (32, 64, 64), one hidden layer (64); 122,570 parameters on CIFAR-10."""

    made_of = Layers((Convolution(32, 3), Convolution(64, 3), Convolution(64, 3, pool=1)), (64,))
