"""What the image sets of torchvision have in common: finding, reading and normalising them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.components.datasets.image_sets.idx import idx_fault, read_idx
from simfl.core.arguments import called
from simfl.core.downloads.folders import cache_folder
from simfl.core.downloads.origins import ORIGINS
from simfl.core.machine.movable import movable_array
from simfl.core.seeds import Seeds
from simfl.errors import InputError

Images = NDArray[np.float32]
"""`(n, channels, height, width)`."""

Stored = tuple[Sequence[NDArray[np.uint8]], NDArray[Any]]
"""Pixels from 0 to 255, `(n, channels, height, width)` in parts, and all `(n,)` labels."""

MNIST_CONSTANTS = ((0.1307,), (0.3081,))


class ImageSet(Dataset):
    """A data set of torchvision as float32 images `(n, channels, height, width)`.

    A sample is the same number for number whenever it is met; crops and flips are drawn as it is
    trained on, from the order's own stream (``training: {augmentation: ...}``).
    """

    tokens = False
    needs_files: ClassVar[bool] = True
    seeded: ClassVar[bool] = False
    classes: ClassVar[int] = 10
    train_images: ClassVar[int] = 60_000
    origin: ClassVar[str]
    """Where it comes from, by name in `ORIGINS`."""
    image_shape: ClassVar[tuple[int, int, int]]
    statistics: ClassVar[tuple[tuple[float, ...], tuple[float, ...]]]
    """Mean and standard deviation per channel of pixels in [0, 1]."""

    normalise: Literal["standard", "mnist_constants", "half", "per_pixel", "none"] = Field(
        "standard",
        description="standard: subtract the set's mean, divide by its deviation, per channel; "
        "mnist_constants: .1307 and .3081 whatever the set (FedCor's code on Fashion-MNIST); "
        "half: (x - .5) / .5 (FedCor on CIFAR-10); per_pixel: mean and deviation of each pixel "
        "over training and test images (FedProx, FedCore); none: pixels in [0, 1]",
    )

    @property
    def files(self) -> tuple[str, ...]:
        """What is read, below the data folder."""
        return ORIGINS[self.origin].files

    @property
    @override
    def samples_known(self) -> int:
        return self.train_images

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return self.image_shape, self.classes

    @property
    @override
    def black(self) -> tuple[float, ...] | None:
        if self.normalise == "per_pixel":
            return None
        if self.normalise == "none":
            return ()
        means, deviations = self._constants
        channels = self.image_shape[0]
        return tuple(np.broadcast_to(-np.divide(means, deviations), channels).tolist())

    @property
    def _constants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation, per channel, that images are normalised with."""
        half = ((0.5,), (0.5,))
        presets = {"standard": self.statistics, "mnist_constants": MNIST_CONSTANTS, "half": half}
        return presets[self.normalise]

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        root = cache_folder() if folder is None else folder
        missing = [name for name in self.files if not (root / name).exists()]
        if missing and folder is not None:
            raise InputError(
                f"data set {self.name!r} is not in {folder}: expected {', '.join(missing)} there; "
                f"`simfl data fetch {self.origin} --to {folder}` gets it, and so does leaving out "
                f"the data folder ({called('--data-dir', 'data_dir')}, SIMFL_DATA)"
            )
        if missing:
            self._fetch(root)
        train, train_y = self._read(root, train=True)
        test, test_y = self._read(root, train=False)
        self._normalise(train, test)
        classes = self.shape()[1]
        return Corpus(Samples(train, train_y), Samples(test, test_y), classes, disposable=True)

    def _fetch(self, root: Path) -> None:
        from simfl.core.downloads.fetch import (
            fetch,  # the modules of the network take long to import
        )

        try:
            fetch(self.origin, root)
        except InputError as error:
            raise InputError(
                f"{error}. If it lies in another folder, name that one "
                f"({called('--data-dir', 'data_dir')}, SIMFL_DATA)"
            ) from error

    def _read(self, root: Path, train: bool) -> tuple[Images, NDArray[np.int64]]:
        try:
            pixels, labels = self._stored(root, train)
            targets, classes = labels.astype(np.int64), self.shape()[1]
            images = _in_a_row(pixels)
            if images.shape != (len(targets), *self.image_shape):
                raise ValueError(f"images of shape {images.shape} and {len(targets)} targets")
            if len(odd := targets[(targets < 0) | (targets >= classes)]):
                part = "training" if train else "test"
                raise ValueError(f"{part} labels are 0 to {classes - 1}, but one is {odd[0]}")
        except (
            OSError, RuntimeError, ValueError, TypeError, AssertionError, LookupError, EOFError,
        ) as error:  # fmt: skip
            raise InputError(self._damage(root, error)) from error
        return images, targets

    def _stored(self, root: Path, train: bool) -> Stored:
        """Return pixels and labels as they are in the files below the folder `root`."""
        images, labels = self.files[:2] if train else self.files[2:]
        return [read_idx(root / images)[:, None]], read_idx(root / labels)

    def _damage(self, root: Path, error: Exception) -> str:
        """Return which files of the folder `root` can't be read, after an `error`."""
        faults = [
            f"{root / name}: {fault}" for name in self.files if (fault := self._told(root / name))
        ]
        if faults:
            return (
                f"data set {self.name!r} has damaged files: {'; '.join(faults)}. Delete what is "
                f"damaged: `simfl data fetch {self.origin} --to {root}` gets it again"
            )
        return (
            f"the files of data set {self.name!r} in {root} are damaged ({error}); expected "
            f"{', '.join(self.files)} as torchvision has them"
        )

    def _told(self, file: Path) -> str:
        try:
            return self._fault(file)
        except OSError as error:
            return error.strerror or str(error)

    def _fault(self, file: Path) -> str:
        """Return what is wrong with one of its files ("": nothing that can be seen)."""
        return idx_fault(file)

    def _normalise(self, train: Images, test: Images) -> None:
        """Normalise in place: a copy of CIFAR-10 is another 600 MB."""
        if self.normalise == "per_pixel":
            n = len(train) + len(test)
            mean = (train.sum(0, dtype=float) + test.sum(0, dtype=float)) / n
            square = np.empty_like(mean)
            for row in range(mean.shape[1]):  # float64: all at once would need twice the memory
                parts = (part[:, :, row] - mean[:, row] for part in (train, test))
                square[:, row] = sum((part**2).sum(0) for part in parts) / n
            shift, scale = mean, np.sqrt(square) + 0.001  # on pixels from 0 to 255
        else:
            for part in (train, test):
                part /= 255
            if self.normalise == "none":
                return
            shift, scale = (np.reshape(numbers, (-1, 1, 1)) for numbers in self._constants)
        for part in (train, test):
            part -= shift.astype(np.float32)
            part /= scale.astype(np.float32)


def _in_a_row(parts: Sequence[NDArray[np.uint8]]) -> Images:
    """Return the pixels of all `parts` as float32, an image after the other in memory."""
    images = movable_array((sum(map(len, parts)), *parts[0].shape[1:]), np.float32)
    return np.concatenate(parts, out=images)
