"""What CIFAR-10 and CIFAR-100 have in common (Krizhevsky, 2009): pickles, each with its MD5."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.datasets.image_sets.base import Images, ImageSet
from simfl.components.datasets.image_sets.torchvision_import import md5_fault, torchvision_datasets


class Cifar(ImageSet):
    """Colour photographs, 32 x 32, as torchvision keeps them."""

    train_images: ClassVar = 50_000
    image_shape: ClassVar = (3, 32, 32)

    torchvision_name: ClassVar[str]
    """Class of `torchvision.datasets`."""

    @override
    def _stored(self, root: Path, train: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        stored = getattr(torchvision_datasets(), self.torchvision_name)(root, train=train)
        return np.asarray(stored.data), np.asarray(stored.targets)

    @override
    def _fault(self, file: Path) -> str:
        known = getattr(torchvision_datasets(), self.torchvision_name)
        sums = dict([*known.train_list, *known.test_list])
        return md5_fault(file, sums.get(file.name, known.meta["md5"]))

    @override
    def _channels_first(self, pixels: NDArray[Any]) -> Images:
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32)
