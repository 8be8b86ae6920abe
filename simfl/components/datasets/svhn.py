"""SVHN: house numbers seen from the street (Netzer et al., 2011), as torchvision keeps them."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import Images, ImageSet
from simfl.components.datasets.image_sets.torchvision_import import md5_fault, torchvision_datasets


@datasets.register("svhn")
class Svhn(ImageSet):
    """73,257 training and 26,032 test photographs of digits, 32 x 32, colour.

    The 531,131 easier ones that were published beside them (``extra``) are left out.
    """

    origin: ClassVar = "svhn"
    train_images: ClassVar = 73_257
    image_shape: ClassVar = (3, 32, 32)
    statistics: ClassVar = ((0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970))

    @override
    def _stored(self, root: Path, train: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        stored = torchvision_datasets().SVHN(root, "train" if train else "test")
        return stored.data, stored.labels

    @override
    def _fault(self, file: Path) -> str:
        known = torchvision_datasets().SVHN.split_list
        return md5_fault(file, known[file.name.partition("_")[0]][2])

    @override
    def _channels_first(self, pixels: NDArray[Any]) -> Images:
        return np.ascontiguousarray(pixels, dtype=np.float32)
