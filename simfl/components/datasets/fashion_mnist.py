"""Fashion-MNIST: pictures of clothes (Xiao et al., arXiv:1708.07747), as torchvision keeps them."""

from typing import ClassVar

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import ImageSet


@datasets.register("fashion_mnist")
class FashionMnist(ImageSet):
    """60,000 training and 10,000 test pictures of 10 kinds of clothes, 28 x 28, grey.

    The default normalises with this set's own mean and deviation; FedCor's code took those of MNIST
    (``normalise: mnist_constants``).
    """

    origin: ClassVar = "fashion_mnist"
    image_shape: ClassVar = (1, 28, 28)
    statistics: ClassVar = ((0.2860,), (0.3530,))
