"""What CIFAR-10 and CIFAR-100 have in common (Krizhevsky, 2009): pickles, each with its MD5."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from simfl.components.datasets.image_sets.base import ImageSet, Stored
from simfl.components.datasets.image_sets.checksum import md5_fault


class Cifar(ImageSet):
    """Colour photographs, 32 x 32, as torchvision keeps them.

    Its files are those to train on, one to test on, and one with the names of classes.
    """

    train_images: ClassVar = 50_000
    image_shape: ClassVar = (3, 32, 32)
    md5: ClassVar[Mapping[str, str]]
    """Of each of its files, by its name without folder."""

    @property
    def _label_key(self) -> bytes:
        """What its files call the labels."""
        return b"labels"

    @override
    def _stored(self, root: Path, train: bool) -> Stored:
        names = self.files[:-2] if train else self.files[-2:]
        for name in names:  # a pickle runs whatever it says
            if fault := self._fault(root / name):
                raise ValueError(f"{name}: {fault}")
        batches = [_unpickled(root / name) for name in (names if train else names[:1])]
        pixels = [batch[b"data"].reshape(-1, *self.image_shape) for batch in batches]
        return pixels, np.concatenate([batch[self._label_key] for batch in batches])

    @override
    def _fault(self, file: Path) -> str:
        return md5_fault(file, self.md5[file.name])


def _unpickled(file: Path) -> dict[bytes, Any]:
    with file.open("rb") as opened:
        batch: dict[bytes, Any] = pickle.load(opened, encoding="bytes")
    return batch
