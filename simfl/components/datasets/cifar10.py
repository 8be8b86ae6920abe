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
    statistics: ClassVar = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
    md5: ClassVar = {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
        "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
    }
