"""Image-like data from a formula, for demonstrations, tests and studies of time: not real data."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples
from simfl.core.machine.memory import require_memory
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Rng

COARSE = 4
"""Prototypes vary over a grid of so many cells per side, so that convolutions can see them."""


@datasets.register("synthetic_images")
class SyntheticImages(Dataset):
    """One smooth random picture per class, plus noise.  A stand-in: accuracies mean nothing.

    Needs no download and fits every image model.
    """

    tokens = False

    classes: int = Field(10, ge=2, description="kinds of pictures")
    channels: int = Field(1, ge=1, description="1: grey, 3: colour")
    size: int = Field(28, ge=COARSE, description="height and width in pixels")
    samples: int = Field(6000, ge=1, description="training samples, equally many of each class")
    test_samples: int = Field(1000, ge=1, description="test samples, equally many of each class")
    noise: float = Field(
        1.0,
        ge=0,
        description="standard deviation of a pixel's noise; the pictures' own is about 0.7",
    )
    generator_seed: int | None = Field(
        0, ge=0, description="seed of the data themselves; null: the run's own seed"
    )

    @property
    @override
    def samples_known(self) -> int:
        return self.samples

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (self.channels, self.size, self.size), self.classes

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        source = seeds if self.generator_seed is None else Seeds(self.generator_seed)
        rng = source.stream("data", "prototypes")
        coarse = rng.standard_normal((self.classes, self.channels, COARSE, COARSE))
        prototypes = _enlarged(coarse, self.size).astype(np.float32)
        return Corpus(
            self._draw(prototypes, self.samples, source.stream("data", "train")),
            self._draw(prototypes, self.test_samples, source.stream("data", "test")),
            self.classes,
        )

    def _draw(self, prototypes: NDArray[np.float32], n: int, rng: Rng) -> Samples:
        require_memory(4 * n * prototypes[0].size, f"data set {self.name!r}")
        y = rng.permutation(np.arange(n) % self.classes)
        x = rng.standard_normal((n, *prototypes.shape[1:]), dtype=np.float32)
        x *= self.noise
        x += prototypes[y]
        return Samples(x, y)


def _enlarged(grid: Floats, size: int) -> Floats:
    """Interpolate `(..., cells, cells)` linearly to `(..., size, size)`."""
    cells = grid.shape[-1]
    weights = np.stack(
        [
            np.interp(np.linspace(0, cells - 1, size), np.arange(cells), unit)
            for unit in np.eye(cells)
        ]
    )
    large: Floats = np.einsum("...hw,hi,wj->...ij", grid, weights, weights)
    return large
