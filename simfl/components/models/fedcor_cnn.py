"""FedCor's and FedGP's network for CIFAR-10.

Tang et al., arXiv:2103.13822, section 5 (docs/algorithms.md, E).
"""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.convolutions import Convolution, convolutional

if TYPE_CHECKING:
    from torch import nn

CONVOLUTIONS = (Convolution(32, 3), Convolution(64, 3), Convolution(64, 3, pool=1))


@models.register("fedcor_cnn")
class FedcorCnn(Model):
    """3x3 convolutions (32, 64, 64), one hidden layer (64); 122,570 parameters on CIFAR-10."""

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        return convolutional(self.name, shape, CONVOLUTIONS, (64,), classes)
