"""SVHN: house numbers seen from the street (Netzer et al., 2011), as torchvision keeps them."""

from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import ImageSet, Stored
from simfl.components.datasets.image_sets.checksum import md5_fault

MD5 = {
    "train_32x32.mat": "e26dedcc434d2e4c54c9b2d4a06d8373",
    "test_32x32.mat": "eb5a983be6a315427106f1b164d9cef3",
}
"""Of the files as they were published."""


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
    def _stored(self, root: Path, train: bool) -> Stored:
        from scipy.io import loadmat  # takes long to import

        file = root / self.files[0 if train else 1]
        if fault := self._fault(file):
            raise ValueError(f"{file.name}: {fault}")
        stored = loadmat(file)
        labels = stored["y"].ravel()
        labels[labels == 10] = 0  # as the digit 0 is stored
        return [stored["X"].transpose(3, 2, 0, 1)], labels

    @override
    def _fault(self, file: Path) -> str:
        return md5_fault(file, MD5[file.name])
