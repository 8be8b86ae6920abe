"""Who holds which samples: a data set, dealt to the devices and split into local parts."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset, LazyCorpus, Samples
from simfl.components.datasets.rearrange import rearranged
from simfl.components.datasets.soundness import sound
from simfl.components.partitions.base import Partition, Source
from simfl.components.partitions.describe import label_counts
from simfl.core.guard import blaming
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError

if TYPE_CHECKING:
    from simfl.training.data import ClientData


class Federation(Protocol):
    """The data of `n` clients, as the builder needs them."""

    @property
    def samples(self) -> Ids:
        """`(n,)` training samples of each client."""

    @property
    def validation(self) -> Ids:
        """`(n,)` samples that each client keeps aside for its local loss."""

    @property
    def label_counts(self) -> NDArray[np.int64] | None:
        """`(n, classes)` labels of each client's training samples, where known without effort."""

    def client_data(self) -> "ClientData":
        """Return the clients' samples as tensors, for training."""

    def judged_on(self, what: Literal["test", "train"]) -> Samples:
        """Return what the global model is evaluated on: the test set, or all training samples."""


@dataclass(frozen=True)
class Dealt(Federation):
    """A data set in memory, in the hands of `n` clients.

    Attributes:
        corpus: the samples (`test` is what the global model is tested on).
        train_rows: per client its rows of `corpus.train` that it trains on.
        validation_rows: per client the rows that it only measures its local loss on.
    """

    corpus: Corpus
    train_rows: list[Ids]
    validation_rows: list[Ids]

    @cached_property
    @override
    def samples(self) -> Ids:
        return np.array([len(rows) for rows in self.train_rows], dtype=np.int64)

    @cached_property
    @override
    def validation(self) -> Ids:
        return np.array([len(rows) for rows in self.validation_rows], dtype=np.int64)

    @cached_property
    @override
    def label_counts(self) -> NDArray[np.int64] | None:
        y = self.corpus.train.y
        if y.ndim > 1 or not np.issubdtype(y.dtype, np.integer):
            return None  # no classes
        return label_counts(self.train_rows, self.corpus.train.y, self.corpus.classes)

    @cached_property
    def _data(self) -> "ClientData":
        import torch

        from simfl.training.data import Partitioned

        train = self.corpus.train
        return Partitioned(
            torch.from_numpy(train.x),
            torch.from_numpy(train.y),
            self.train_rows,
            self.validation_rows,
        )

    @override
    def client_data(self) -> "ClientData":
        return self._data

    @override
    def judged_on(self, what: Literal["test", "train"]) -> Samples:
        if what == "test":
            return self.corpus.test
        rows = np.unique(np.concatenate(self.train_rows))
        return Samples(self.corpus.train.x[rows], self.corpus.train.y[rows])


@dataclass(frozen=True)
class Lazy(Federation):
    """Clients that make their samples when asked; nothing is held for those who never take part."""

    corpus: LazyCorpus

    @property
    @override
    def samples(self) -> Ids:
        return self.corpus.sizes

    @property
    @override
    def validation(self) -> Ids:
        """None."""
        return np.zeros(len(self.corpus.sizes), dtype=np.int64)

    @property
    @override
    def label_counts(self) -> NDArray[np.int64] | None:
        """Not known without making everybody's samples."""
        return None

    @override
    def client_data(self) -> "ClientData":
        from simfl.training.generated import Generated

        return Generated(self.corpus)

    @override
    def judged_on(self, what: Literal["test", "train"]) -> Samples:
        if what == "train":
            raise InputError("evaluation.on: train needs a data set that is held in memory")
        return self.corpus.test


def federate(
    dataset: Dataset,
    partition: Partition,
    clients: int,
    local_validation: float,
    test_share: float,
    folder: Path | None,
    seeds: Seeds,
) -> Federation:
    """Load `dataset` and deal it to `clients` clients.

    Args:
        dataset: what is learnt.
        partition: how it is dealt.
        clients: number of devices.
        local_validation: share of each client's samples kept aside for its local loss: the last of
            its rows, as FedCor does; at least one sample stays for training.
        test_share: share of each client's samples cut for testing, where the partition pools the
            training and the test set.
        folder: the data folder, or None.
        seeds: the run's root of randomness; the deal is addressed ``("partition",)``.

    Raises:
        InputError: the files are missing, or the data can't be dealt that way.
    """
    if (lazy := dataset.lazy(clients, seeds)) is not None:
        return Lazy(lazy)
    with blaming(dataset, "being loaded", told_as=InputError):
        corpus = sound(dataset, dataset.load(folder, seeds))
    if partition.pools_test:
        corpus = _pooled(corpus)
    source = Source(corpus.train.y, corpus.classes, corpus.natural)
    if dataset.targets != "classes":
        if partition.reads_labels:
            raise InputError(
                f"partition {partition.name!r} deals by classes, but the targets of data set "
                f"{dataset.name!r} are {dataset.targets}; use iid, natural or power_law"
            )
        source = replace(source, labels=np.zeros(len(corpus.train), dtype=np.int64))
    with blaming(partition, "dealing", told_as=InputError):
        dealt = partition.deal(source, clients, seeds.stream("partition"))
    if len(dealt) != clients:
        raise InputError(f"partition {partition.name!r} dealt {len(dealt)} parts for {clients}")
    if partition.pools_test:
        corpus, dealt = _hold_out(corpus, dealt, test_share, seeds)
    held = [int(len(rows) * local_validation) for rows in dealt]
    held = [min(count, max(len(rows) - 1, 0)) for count, rows in zip(held, dealt, strict=True)]
    train = [rows[: len(rows) - count] for rows, count in zip(dealt, held, strict=True)]
    validation = [rows[len(rows) - count :] for rows, count in zip(dealt, held, strict=True)]
    return _client_by_client(Dealt(corpus, train, validation))


def _client_by_client(dealt: Dealt) -> Dealt:
    """Lay each client's samples side by side: its batches are gathered faster from there.

    Samples that nobody holds are left behind.  Where some have several owners nothing is moved.
    """
    parts = [
        part for pair in zip(dealt.train_rows, dealt.validation_rows, strict=True) for part in pair
    ]
    order = np.concatenate(parts)
    train = dealt.corpus.train
    if np.bincount(order, minlength=len(train)).max() > 1:
        return dealt
    ends = np.cumsum([len(part) for part in parts])
    rows = np.split(np.arange(len(order), dtype=np.int64), ends[:-1])
    moved = rearranged(train, order, in_place=dealt.corpus.disposable)
    return Dealt(replace(dealt.corpus, train=moved, natural=None), rows[::2], rows[1::2])


def _pooled(corpus: Corpus) -> Corpus:
    """Return `corpus` with its test samples put behind its training samples."""
    x = np.concatenate([corpus.train.x, corpus.test.x])
    y = np.concatenate([corpus.train.y, corpus.test.y])
    return Corpus(Samples(x, y), corpus.test, corpus.classes)


def _hold_out(
    corpus: Corpus, dealt: list[Ids], test_share: float, seeds: Seeds
) -> tuple[Corpus, list[Ids]]:
    """Cut a test part from each client's own rows; the test set is their union."""
    train, test = [], []
    for client, rows in enumerate(dealt):
        shuffled = rows[seeds.stream("data", "hold_out", client).permutation(len(rows))]
        cut = int(len(rows) * (1 - test_share))
        train.append(shuffled[:cut])
        test.append(shuffled[cut:])
    rows = np.concatenate(test)
    tested = Samples(corpus.train.x[rows], corpus.train.y[rows])
    return Corpus(corpus.train, tested, corpus.classes), train
