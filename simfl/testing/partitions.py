"""The contract of every partition, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.partitions.base import Partition, Source
from simfl.core.types import Ids
from simfl.errors import InputError
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, unchanged


def source(n: int, classes: int, seed: int = 0, natural: int = 0) -> Source:
    """Return `n` labels, each class nearly as often, and if asked for `natural` clients."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % classes)
    own = np.array_split(np.arange(n), natural) if natural else None
    return Source(labels, classes, own)


class PartitionContract(ComponentContract):
    """What holds for every partition; inherit and set `create`."""

    create: Callable[..., Partition]
    shared: ClassVar[bool] = False
    """Whether a row may be dealt to several clients, or several times to one."""
    whole: ClassVar[bool] = True
    """Whether every row is dealt to somebody."""
    clients: ClassVar[int] = 20
    """A number of clients that it can deal to."""

    def deal(self, data: Source, clients: int, seed: int = 0) -> list[Ids]:
        """Return who holds which rows and check what that must always be."""
        before = data.labels.copy()
        dealt = self.create().deal(data, clients, np.random.default_rng(seed))
        unchanged(data.labels, before)
        assert len(dealt) == clients, f"{len(dealt)} clients instead of {clients}"
        assert all(rows.dtype == np.int64 and rows.ndim == 1 for rows in dealt)
        rows = np.concatenate(dealt)
        assert ((rows >= 0) & (rows < len(data.labels))).all(), "rows that are not there"
        if not self.shared:
            assert len(np.unique(rows)) == len(rows), "a row was dealt twice"
        if self.whole:
            assert len(np.unique(rows)) == len(data.labels), "a row was dealt to nobody"
        return dealt

    def test_it_deals_to_so_many_clients(self) -> None:
        """2,000 rows of ten classes, drawn anew three times."""
        for seed in range(3):
            dealt = self.deal(source(2_000, 10, seed, self.clients), self.clients, seed)
            assert sum(len(rows) > 0 for rows in dealt) > len(dealt) / 2, "most hold nothing"

    @RELAXED
    @given(n=st.integers(1, 60), classes=st.integers(1, 5), clients=st.integers(1, 30), seed=SEEDS)
    def test_it_deals_or_says_why_not(self, n: int, classes: int, clients: int, seed: int) -> None:
        """However few rows there are: an `InputError`, or a partition like any other."""
        try:
            dealt = self.create().deal(
                source(n, classes, seed, clients), clients, np.random.default_rng(seed)
            )
        except InputError:
            return
        assert len(dealt) == clients
        self.deal(source(n, classes, seed, clients), clients, seed)

    def test_same_numbers_same_partition(self) -> None:
        """Chance comes from the generator that is passed in, and from nowhere else."""
        data = source(2_000, 10, natural=self.clients)
        one, other = (self.deal(data, self.clients, seed=3) for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
