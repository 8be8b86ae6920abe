"""A data set that tells how often it was loaded, for those that share one."""

from pathlib import Path
from typing import ClassVar

import numpy as np
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.core.machine.movable import movable_array
from simfl.core.seeds import Seeds

SAMPLES, FEATURES = 2100, 2000
"""Just enough to be moved rather than copied."""


class Counted(Dataset):
    """Normally distributed numbers, whatever the seed; each load is a line of the file `told`."""

    seeded: ClassVar[bool] = False

    told: Path

    @property
    @override
    def samples_known(self) -> int:
        return SAMPLES

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (FEATURES,), 3

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        with self.told.open("a") as file:
            print("loaded", file=file)
        rng = np.random.default_rng(0)
        train = movable_array((SAMPLES, FEATURES), np.float32)
        rng.standard_normal(out=train, dtype=np.float32)
        labels = rng.integers(0, 3, SAMPLES)
        test = Samples(train[:50].copy(), labels[:50])
        return Corpus(Samples(train, labels), test, 3, disposable=True)
