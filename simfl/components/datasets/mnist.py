"""MNIST: handwritten digits (LeCun et al., 1998), as torchvision keeps them."""

from typing import ClassVar

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import MNIST_CONSTANTS, ImageSet


@datasets.register("mnist")
class Mnist(ImageSet):
    """60,000 training and 10,000 test digits, 28 x 28, grey."""

    origin: ClassVar = "mnist"
    image_shape: ClassVar = (1, 28, 28)
    statistics: ClassVar = MNIST_CONSTANTS
