"""EMNIST: handwritten digits and letters (Cohen et al., 2017), as torchvision keeps them."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.base import ImageSet, Stored

SIZES = {
    "balanced": (47, 112_800),
    "byclass": (62, 697_932),
    "bymerge": (47, 697_932),
    "digits": (10, 240_000),
    "letters": (26, 124_800),
    "mnist": (10, 60_000),
}
"""Classes and training images of each split."""


@datasets.register("emnist")
class Emnist(ImageSet):
    """Handwritten characters, 28 x 28, grey; 112,800 training and 18,800 test images by default.

    Upright, as MNIST's are: the files, and torchvision, have them transposed.  Letters are numbered
    from 0.  ``normalise: standard`` takes mean and deviation of all training images (``byclass``),
    whichever the split.  Who wrote what is not in these files (it is in LEAF's FEMNIST).
    """

    origin: ClassVar = "emnist"
    image_shape: ClassVar = (1, 28, 28)
    statistics: ClassVar = ((0.1736,), (0.3317,))

    split: Literal["balanced", "byclass", "bymerge", "digits", "letters", "mnist"] = Field(
        "balanced",
        description="byclass: 62 classes, digits, capitals and small letters, 697,932 training "
        "images; bymerge: the same images, letters merged whose capital looks like the small one, "
        "47 classes; balanced: as many of each of those 47, 112,800; letters: capitals and small "
        "ones merged, 26 classes, 124,800; digits: 240,000; mnist: 60,000 digits",
    )

    @property
    @override
    def files(self) -> tuple[str, ...]:
        return tuple(name for name in super().files if f"emnist-{self.split}-" in name)

    @property
    @override
    def samples_known(self) -> int:
        return SIZES[self.split][1]

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return self.image_shape, SIZES[self.split][0]

    @override
    def _stored(self, root: Path, train: bool) -> Stored:
        pixels, labels = super()._stored(root, train)
        upright = [part.transpose(0, 1, 3, 2) for part in pixels]
        return upright, labels.astype(np.int64) - (self.split == "letters")
