"""CIFAR-10: small colour photographs (Krizhevsky, 2009), as torchvision keeps them."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simfl.components.datasets.base import datasets
from simfl.components.datasets.images import Images, ImageSet
from simfl.components.datasets.torchvision_import import torchvision_datasets


@datasets.register("cifar10")
class Cifar10(ImageSet):
    """50,000 training and 10,000 test photographs of 10 kinds of things, 32 x 32, colour.

    FedACS's random crops and flips are a matter of training (``training: {augmentation: ...}``).
    """

    origin: ClassVar = "cifar10"
    torchvision_name: ClassVar = "CIFAR10"
    train_images: ClassVar = 50_000
    image_shape: ClassVar = (3, 32, 32)
    statistics: ClassVar = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))

    def _fault(self, file: Path) -> str:
        known = torchvision_datasets()
        listed = known.CIFAR10.train_list + known.CIFAR10.test_list
        sums = {**dict(listed), known.CIFAR10.meta["filename"]: known.CIFAR10.meta["md5"]}
        whole = known.utils.check_integrity(file, sums[file.name])
        return "" if whole else "its checksum (MD5) is not that of the published file"

    def _channels_first(self, pixels: NDArray[Any]) -> Images:
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32)
