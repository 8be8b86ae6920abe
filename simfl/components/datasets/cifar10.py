"""CIFAR-10: small colour photographs (Krizhevsky, 2009), as torchvision keeps them."""

from typing import ClassVar

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.cifar import Cifar


@datasets.register("cifar10")
class Cifar10(Cifar):
    """50,000 training and 10,000 test photographs of 10 kinds of things, 32 x 32, colour.

    FedACS's random crops and flips are a matter of training (``training: {augmentation: ...}``).
    """

    origin: ClassVar = "cifar10"
    torchvision_name: ClassVar = "CIFAR10"
    statistics: ClassVar = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
