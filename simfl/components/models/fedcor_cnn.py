"""FedCor's and FedGP's network for CIFAR-10.

Tang et al., arXiv:2103.13822, section 5 (docs/algorithms.md, E).
"""

from typing_extensions import override

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers

CONVOLUTIONS = (Convolution(32, 3), Convolution(64, 3), Convolution(64, 3, pool=1))


@models.register("fedcor_cnn")
class FedcorCnn(ConvolutionalModel):
    """3x3 convolutions (32, 64, 64), one hidden layer (64); 122,570 parameters on CIFAR-10."""

    @override
    def layers(self) -> Layers:
        return Layers(CONVOLUTIONS, (64,))
