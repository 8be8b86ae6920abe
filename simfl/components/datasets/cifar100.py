"""CIFAR-100: small colour photographs (Krizhevsky, 2009), as torchvision keeps them."""

from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.image_sets.cifar import Cifar

COARSE = """
    4 1 14 8 0 6 7 7 18 3  3 14 9 18 7 11 3 9 7 11  6 11 5 10 7 6 13 15 3 15
    0 11 1 10 12 14 16 9 11 5  5 19 8 8 15 13 14 17 18 10  16 4 17 4 2 0 17 4 18 17
    10 3 2 12 12 16 12 1 9 19  2 10 0 1 16 12 9 13 15 13  16 19 2 4 6 19 5 5 8 19
    18 1 2 15 6 0 17 8 14 13
"""
"""The coarse label of each fine one, in their order."""


@datasets.register("cifar100")
class Cifar100(Cifar):
    """50,000 training and 10,000 test photographs of 100 kinds of things, 32 x 32, colour."""

    origin: ClassVar = "cifar100"
    statistics: ClassVar = ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
    md5: ClassVar = {
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    }

    labels: Literal["fine", "coarse"] = Field(
        "fine", description="fine: 100 classes; coarse: 20, of five fine ones each"
    )

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return self.image_shape, 100 if self.labels == "fine" else 20

    @property
    @override
    def superclasses(self) -> tuple[int, ...] | None:
        return tuple(map(int, COARSE.split())) if self.labels == "fine" else None

    @property
    @override
    def _label_key(self) -> bytes:
        return f"{self.labels}_labels".encode()
