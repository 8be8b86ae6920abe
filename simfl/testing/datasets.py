"""The contract of every data set, as a test suite to inherit: see `simfl.testing.contract`."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import OnDemand, Samples
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.testing.contract import ComponentContract

CLIENTS = 7


class DatasetContract(ComponentContract):
    """What holds for every data set; inherit and set `create`."""

    create: Callable[..., Dataset]
    folder: ClassVar[Path | None] = None
    """Where its files lie, if it reads any; without them only their absence is tested."""

    @property
    def there(self) -> bool:
        """Whether there is something to load."""
        return self.folder is not None or not self.create().needs_files

    def lazy(self) -> OnDemand | None:
        """Return clients that make their data on demand, if the data set has such."""
        return self.create().lazy(CLIENTS, Seeds(1))

    def check(self, samples: Samples) -> None:
        """Assert that `samples` are what `shape` says."""
        dataset = self.create()
        shape, classes = dataset.shape()
        assert samples.x.shape == (len(samples.y), *shape), (samples.x.shape, shape)
        assert samples.x.dtype in (np.float32, np.int64), samples.x.dtype
        assert np.isfinite(samples.x).all(), "an input is not finite"
        if dataset.targets != "classes":
            assert samples.y.dtype == np.float32, samples.y.dtype
            assert samples.y.shape[1:] in ((), (classes,)), (samples.y.shape, classes)
            assert np.isfinite(samples.y).all(), "targets are not finite"
            return
        assert samples.y.dtype == np.int64, samples.y.dtype
        assert ((samples.y >= 0) & (samples.y < classes)).all(), "a class that there is not"

    def test_samples_are_as_announced(self) -> None:
        """Shape, types and classes, of training and of test samples."""
        lazy = self.lazy()
        if lazy is not None:
            self.check(lazy.test)
            for client in range(CLIENTS):
                self.check(lazy.client(client))
        elif self.there:
            corpus = self.create().load(self.folder, Seeds(1))
            assert corpus.classes == self.create().shape()[1]
            assert self.create().samples_known in (None, len(corpus.train))
            vocabulary = self.create().vocabulary_known
            tokens = np.concatenate([corpus.train.x.ravel(), corpus.test.x.ravel()])
            assert vocabulary is None or tokens.max() < vocabulary
            for samples in (corpus.train, corpus.test):
                assert len(samples)
                self.check(samples)

    def check_names(self, corpus: Corpus) -> None:
        """Assert that its clients are called what was announced."""
        announced, names = self.create().names_known, corpus.natural_names
        if announced is not None:
            told = [] if names is None else names.tolist()
            exact = self.create().natural_known is not None
            assert told == list(announced) if exact or not announced else set(told) <= {*announced}

    def test_natural_clients(self) -> None:
        """They hold every training sample once, if the data set says that it has any."""
        if self.lazy() is not None or not self.there:
            return
        corpus = self.create().load(self.folder, Seeds(1))
        assert (corpus.natural is not None) == self.create().natural_clients
        if corpus.natural is not None:
            assert self.create().natural_known in (None, len(corpus.natural))
            self.check_names(corpus)
            rows = np.sort(np.concatenate(list(corpus.natural)))
            assert np.array_equal(rows, np.arange(len(corpus.train)))

    def test_loaded_again_it_is_the_same(self) -> None:
        """Chance comes from the seeds that are passed in, unless `seeded` denies it, or options."""
        if self.lazy() is None and self.there:
            roots = 2, 2 if self.create().seeded else 3
            one, other = (self.create().load(self.folder, Seeds(root)) for root in roots)
            for a, b in ((one.train, other.train), (one.test, other.test)):
                assert a.x.tobytes() == b.x.tobytes(), "other inputs"
                assert np.array_equal(a.y, b.y), "other targets"

    def test_clients_on_demand_are_always_the_same(self) -> None:
        """In whatever order they are asked, and in another process."""
        lazy, again = self.lazy(), self.lazy()
        if lazy is None or again is None:
            return
        elsewhere: OnDemand = pickle.loads(pickle.dumps(lazy))
        first = {client: lazy.client(client) for client in range(CLIENTS)}
        for corpus in (lazy, again, elsewhere):
            assert np.array_equal(corpus.sizes, lazy.sizes)
            for client in reversed(range(CLIENTS)):
                samples = corpus.client(client)
                assert len(samples) == corpus.sizes[client], "another size than promised"
                assert samples.x.tobytes() == first[client].x.tobytes(), f"client {client}"
                assert np.array_equal(samples.y, first[client].y), f"client {client}"

    def test_missing_files(self, tmp_path: Path) -> None:
        """What is not there is told, and nothing is downloaded into a folder that was named."""
        if self.create().needs_files:
            with pytest.raises(InputError, match=re.escape(str(tmp_path))):
                self.create().load(tmp_path, Seeds(0))
            assert not list(tmp_path.iterdir()), "something was written there"
