"""The seam of data sets: samples in memory and who holds them by nature, or made on demand."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simfl.components.data_targets import Targets
from simfl.components.datasets.clients import OnDemand, Samples
from simfl.core.component import Component
from simfl.core.ownership import is_simfls
from simfl.core.registry import Registry
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError


@dataclass(frozen=True)
class Corpus:
    """A data set in memory, normalised and ready to train on.

    Attributes:
        train: training samples.
        test: test samples of the whole federation.
        classes: number of classes.
        natural: per natural client its rows of `train`, or None.
        natural_test: per natural client its rows of `test`: left out with a client that is (None:
            not known whose they are).
        natural_names: `(natural clients,)` what the data set calls each (None: it does not say).
        disposable: whether nobody else holds these arrays, so that they may be rearranged in place.
        shared: whether they lie in memory that other processes map, too: a copy in another order
            would be this one's alone.
    """

    train: Samples
    test: Samples
    classes: int
    natural: Sequence[Ids] | None = None
    natural_test: Sequence[Ids] | None = None
    natural_names: NDArray[np.str_] | None = None
    disposable: bool = False
    shared: bool = False


class Dataset(Component, ABC):
    """Something a federation can learn from."""

    needs_files: ClassVar[bool] = False
    """Whether `load` reads (or downloads) files below the data folder."""

    seeded: ClassVar[bool] = True
    """Whether what `load` returns depends on the seed; if not, runs side by side may share it."""

    tokens: ClassVar[bool | None] = None
    """Whether inputs are tokens, whole numbers (None: not known before they are loaded)."""

    natural_clients: ClassVar[bool] = False
    """Whether the data set has clients of its own."""

    targets: ClassVar[Targets] = "classes"
    """What targets are: a class each, `(n,)` int64; several labels, 0 or 1 each, `(n, classes)`
    float32; or numbers, `(n,)` or `(n, classes)` float32."""

    @property
    def file_version(self) -> tuple[int, ...]:
        """What differs once a file of one's own that it reads has changed ((): it reads none)."""
        return ()

    @property
    def black(self) -> tuple[float, ...] | None:
        """What a black pixel is in each channel; (): 0; None: not the same everywhere."""
        return ()

    @property
    def natural_known(self) -> int | None:
        """How many clients of its own it has; None: not known before it is loaded."""
        return None

    @property
    def names_known(self) -> Sequence[str] | None:
        """What each of its clients is called, in their order; (): they have no names.

        Of these some may turn out to have no sample to train on, if `natural_known` is None.  None:
        the names are not known before it is loaded.
        """
        return () if is_simfls(type(self)) else None

    @property
    def vocabulary_known(self) -> int | None:
        """How many tokens, numbered from 0, inputs are made of; None: not known before loading."""
        return None

    @property
    def zero_is_token(self) -> bool:
        """Whether token 0 is surely one like any other, and no padding."""
        return False

    @property
    def superclasses(self) -> Sequence[int] | None:
        """The number of the group that each class belongs to; None: classes stand alone."""
        return None

    @property
    def samples_known(self) -> int | None:
        """How many training samples it has; None: not known before it is loaded."""
        return None

    @abstractmethod
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        """Return the data.

        Args:
            folder: the data folder (``--data-dir`` or ``SIMFL_DATA``); None: download.
            seeds: streams are addressed ``("data", ...)``.

        Raises:
            InputError: the files are not there or damaged; the message says which were expected.
        """

    @abstractmethod
    def shape(self) -> tuple[tuple[int, ...], int]:
        """Return the shape of one input and the number of classes, without loading anything."""

    def lazy(self, clients: int, seeds: Seeds) -> OnDemand | None:
        """Return `clients` clients that make their data on demand, or None: use `load`.

        A data set that answers is never loaded and never partitioned: it deals its own clients.
        """
        return None


def _adopt(named: object) -> object:
    ours = isinstance(named, type) and issubclass(named, Dataset)
    if hasattr(named, "__getitem__") and not ours:
        raise InputError(
            "a torch.utils.data.Dataset is named as `dataset: {name: torch, dataset: path.py:name}`"
        )
    return named


datasets: Registry[Dataset] = Registry("dataset", "simfl.components.datasets", adopt=_adopt)
