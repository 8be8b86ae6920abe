"""Who holds which samples: a data set, dealt to the devices and split into local parts."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simfl.build.kept_aside import hold_out, keep_aside, pooled, shuffled
from simfl.build.shared_data import DataKey, held, least_bytes
from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import ClientData, OnDemand, Samples, side_by_side
from simfl.components.datasets.rearrange import rearranged
from simfl.components.datasets.seeded_libraries import seeded_libraries
from simfl.components.datasets.soundness import require_sound
from simfl.components.partitions.base import Partition, Source
from simfl.core.blame import blaming
from simfl.core.component import Component
from simfl.core.machine.memory import require_memory
from simfl.core.ownership import users_own
from simfl.core.readonly import read_only
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError
from simfl.training.data import Partitioned


class Unfit(InputError):
    """What came to light once data were loaded.

    Attributes:
        part: which part of ``data`` it is about.
    """

    def __init__(self, part: Literal["dataset", "partition"], message: str) -> None:
        super().__init__(message)
        self.part = part


def federate(
    dataset: Dataset,
    partition: Partition,
    clients: int,
    local_validation: float,
    test_share: float,
    folder: Path | None,
    seeds: Seeds,
    sizes: Ids | None = None,
) -> tuple[ClientData, Samples]:
    """Return the data of `clients` clients, and what the global model is tested on.

    Args:
        dataset: what is learnt.
        partition: how it is dealt.
        clients: number of devices.
        local_validation: share of each client's samples kept aside for its local loss: the last of
            its rows, as FedCor does, with all copies of one that was dealt more than once; at least
            one sample stays for training.  Natural clients' rows, which may be sorted, are shuffled
            before, each client's by ``("data", "validation", client)``.
        test_share: share of each client's samples cut for testing, where the partition pools the
            training and the test set.
        folder: the data folder, or None.
        seeds: the run's root of randomness; the deal is addressed ``("partition",)``.
        sizes: `(clients,)` how many samples each is to hold (None: the partition says it).

    Raises:
        Unfit: the files are missing, nothing can be learned from the data, or they can't be dealt
            that way.
    """
    with _chance_of(dataset, seeds, "data"):
        lazy = dataset.lazy(clients, seeds)
    if lazy is not None:
        return lazy, _sound_test(dataset, lazy)
    key = DataKey(dataset, partition.pools_test, folder)
    corpus = held(key) or loaded(key, seeds)
    dealt = _deal(dataset, partition, corpus, clients, seeds, sizes)
    names = None
    if partition.deals_natural:
        names = _names(corpus, dealt)
        corpus = _without_test_of_others(corpus, dealt)
    if partition.pools_test:
        corpus, dealt = hold_out(corpus, dealt, test_share, seeds)
    if partition.deals_natural and local_validation > 0:
        dealt = shuffled(dealt, seeds)
    train, validation = keep_aside(dealt, local_validation)
    return _client_by_client(corpus, train, validation, names), corpus.test


def loaded(key: DataKey, seeds: Seeds) -> Corpus:
    """Return the samples of a data set, once they are found to be sound.

    Args:
        key: which.
        seeds: the run's root of randomness.

    Raises:
        Unfit: the files are missing, there is no room for them, or nothing can be learned from
            them.
    """
    dataset = key.dataset
    try:
        with blaming(dataset, "being loaded", told_as=InputError):
            require_memory(least_bytes(dataset), f"data set {dataset.name!r}")
            quiet = np.errstate(over="ignore", invalid="ignore")  # what isn't finite is told of
            with quiet, _chance_of(dataset, seeds, "data"):
                corpus = dataset.load(key.folder, seeds)
            expect(isinstance(corpus, Corpus), "a Corpus", type(corpus).__name__)
            require_sound(dataset, corpus)
    except InputError as error:
        raise Unfit("dataset", str(error)) from error
    train, test = (part.with_labels_of_int64() for part in (corpus.train, corpus.test))
    corpus = replace(corpus, train=train, test=test)
    return pooled(corpus) if key.pooled else corpus


def _chance_of(
    component: Component, seeds: Seeds, purpose: Literal["data", "partition"]
) -> AbstractContextManager[None]:
    """Let what a user's `component` draws from the global state of libraries come from the seed.

    Each purpose has numbers of its own: else a partition deals by those that made the labels.
    """
    if not users_own([component]):
        return nullcontext()
    return seeded_libraries(seeds.number(purpose, "libraries") % 2**32)


def _sound_test(dataset: Dataset, lazy: OnDemand) -> Samples:
    """Return the test samples of `lazy`, once they and a client's own are found to be sound."""
    holders = np.flatnonzero(lazy.sizes)
    if not len(holders):
        raise Unfit("dataset", f"data set {dataset.name!r} has no training samples")
    try:
        with blaming(dataset, "making samples", told_as=InputError):
            classes = dataset.shape()[1]
            corpus = Corpus(lazy.client(int(holders[0])), lazy.test, classes)
        require_sound(dataset, corpus)
    except InputError as error:
        raise Unfit("dataset", str(error)) from error
    return corpus.test.with_labels_of_int64()


def _deal(
    dataset: Dataset,
    partition: Partition,
    corpus: Corpus,
    clients: int,
    seeds: Seeds,
    sizes: Ids | None,
) -> list[Ids]:
    """Return each client's rows of the training set."""
    labels = read_only(corpus.train.y)
    source = Source(labels, corpus.classes, corpus.natural, dataset.superclasses, sizes)
    if dataset.targets != "classes":
        source = replace(source, labels=np.zeros(len(corpus.train), dtype=np.int64))
    try:
        with blaming(partition, "dealing", told_as=InputError):
            with _chance_of(partition, seeds, "partition"):
                dealt = partition.deal(source, clients, seeds.stream("partition"))
            _check_rows(dealt, len(corpus.train))
    except InputError as error:
        raise Unfit("partition", str(error)) from error
    if len(dealt) != clients:
        told = f"partition {partition.name!r} dealt {len(dealt)} parts for {clients}"
        raise Unfit("partition", told)
    return dealt


def _check_rows(dealt: list[Ids], samples: int) -> None:
    """Raise `Unexpected` unless these are rows of so many samples."""
    expect(isinstance(dealt, Sequence), "an array of rows for each client", dealt)
    for rows in dealt:
        if not isinstance(rows, np.ndarray) or (rows.dtype.kind not in "iu" and len(rows)):
            expect(False, "arrays of rows, whole numbers", rows)
    everybody = np.concatenate(dealt) if dealt else np.zeros(0)
    if len(everybody):
        low, high = everybody.min(), everybody.max()
        expect(low >= 0 and high < samples, f"rows from 0 to {samples - 1}", f"{low} to {high}")


def _names(corpus: Corpus, dealt: list[Ids]) -> NDArray[np.str_] | None:
    """Return `(clients,)` what the data set calls each that was dealt its rows (None: nothing)."""
    if corpus.natural is None or corpus.natural_names is None or not all(map(len, dealt)):
        return None
    owners = np.zeros(len(corpus.train), dtype=np.int64)
    for owner, rows in enumerate(corpus.natural):
        owners[rows] = owner
    return np.asarray(corpus.natural_names[owners[[rows[0] for rows in dealt]]])


def _client_by_client(
    corpus: Corpus, train: list[Ids], validation: list[Ids], names: NDArray[np.str_] | None
) -> ClientData:
    """Lay each client's samples side by side: its batches are gathered faster from there.

    Samples that nobody holds are left behind.  Where some have several owners, or other processes
    share them, nothing is moved.
    """
    samples = corpus.train
    parts = [part for pair in zip(train, validation, strict=True) for part in pair]
    order = np.concatenate(parts)
    if not corpus.shared and np.bincount(order, minlength=len(samples)).max() <= 1:
        rows = side_by_side(parts)
        samples = rearranged(samples, order, in_place=corpus.disposable)
        train, validation = rows[::2], rows[1::2]
    counted = samples.y.ndim == 1 and not np.issubdtype(samples.y.dtype, np.floating)
    return Partitioned(samples, train, validation, corpus.classes if counted else None, names)


def _without_test_of_others(corpus: Corpus, dealt: list[Ids]) -> Corpus:
    """Return `corpus` without the test samples of natural clients that have no part in this.

    Raises:
        Unfit: no test sample is left.
    """
    if corpus.natural is None or corpus.natural_test is None:
        return corpus
    used = np.zeros(len(corpus.train), dtype=np.bool_)
    for rows in dealt:
        used[rows] = True
    owned = zip(corpus.natural, corpus.natural_test, strict=True)
    others = [tested for rows, tested in owned if len(rows) and not used[rows].any()]
    if not others or not len(corpus.test):
        return corpus
    rows = np.delete(np.arange(len(corpus.test)), np.concatenate(others))
    if not len(rows):
        raise Unfit("partition", "none of the clients that take part has a test sample")
    return replace(corpus, test=Samples(corpus.test.x[rows], corpus.test.y[rows]))
