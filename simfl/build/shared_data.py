"""Data sets that runs side by side share: one process loads each, and all map its arrays."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from simfl.components.datasets.base import Corpus, Dataset
from simfl.core.machine.movable import can_move
from simfl.core.machine.shared import Shared
from simfl.scenario.parts.learning import Data

SHARED_BYTES = 256 * 2**20
"""Inputs to train on from here on are shared.  Smaller ones each process has of its own, each
client's side by side: small models are trained some percent faster from there."""


@dataclass(frozen=True)
class DataKey:
    """What tells one set of samples from another, where they do not depend on the seed.

    Attributes:
        dataset: with its options.
        pooled: whether test samples are put behind those to train on.
        folder: the data folder (None: they are downloaded).
        file_version: of the data set as this is made: who finds a file changed since reads it anew.
    """

    dataset: Dataset
    pooled: bool
    folder: Path | None
    file_version: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_version", self.dataset.file_version)


@dataclass
class _Held:
    key: DataKey
    sent: Shared
    corpus: Corpus | None = None


_held: _Held | None = None
"""What this process was sent last."""


def least_bytes(dataset: Dataset) -> int:
    """Return how much memory the training samples take at least (0: not known before)."""
    samples = dataset.samples_known
    return 4 * samples * math.prod(dataset.shape()[0]) if samples else 0


def key_to_share(data: Data, folder: Path | None) -> DataKey | None:
    """Return which samples a run shares with others beside it (None: none).

    Args:
        data: the scenario's.
        folder: the data folder.
    """
    dataset = data.dataset
    if dataset.seeded or not can_move():
        return None
    if least_bytes(dataset) < SHARED_BYTES:
        return None
    return DataKey(dataset, data.partition.pools_test, folder if dataset.needs_files else None)


def hold(key: DataKey | None, sent: Shared | None) -> None:
    """Let `held` return samples that this process was sent.

    Args:
        key: which; what is held of others is forgotten.
        sent: of a `Corpus`; None: they were sent before, or can't be had.
    """
    global _held
    if _held is not None and (sent is not None or _held.key != key):
        _held.sent.close()
        _held = None
    if _held is not None:
        _held.corpus = None  # what a run wrote, the next one does not see
    elif key is not None and sent is not None:
        _held = _Held(key, sent)


def held(key: DataKey) -> Corpus | None:
    """Return the samples that this process was sent; None: it must load them."""
    if _held is None or _held.key != key:
        return None
    if _held.corpus is None:
        try:
            _held.corpus = _held.sent.value()
        except OSError:  # no room for the map, but perhaps for what is read piece by piece
            return None
    return _held.corpus
