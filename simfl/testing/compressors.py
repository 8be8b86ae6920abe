"""The contract of every compressor, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.compressors.base import Compressor, Update
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, unchanged


class CompressorContract(ComponentContract):
    """What holds for every compressor; inherit and set `create`."""

    create: Callable[..., Compressor]
    grows: ClassVar[bool] = False
    """Whether numbers may arrive larger than any that was sent: scaled up, so that their means are
    those of the update, say."""

    def compress(self, update: Update, seed: int = 0) -> Update:
        """Return what the server decodes and check what it must always be."""
        before = update.copy()
        decoded = self.create().compress(update, np.random.default_rng(seed))
        unchanged(update, before)
        assert decoded.shape == update.shape, f"{update.shape} became {decoded.shape}"
        assert decoded.dtype == np.float32, f"an update of {decoded.dtype}"
        return decoded

    @RELAXED
    @given(seed=SEEDS, p=st.integers(1, 200), scale=st.sampled_from([1e-3, 1.0, 1e3]))
    def test_it_stays_close(self, seed: int, p: int, scale: float) -> None:
        """No number changes its sign, or outgrows the largest by more than a thousandth."""
        rng = np.random.default_rng(seed)
        update = (scale * rng.normal(size=p)).astype(np.float32)
        decoded = self.compress(update, seed)
        assert np.all(decoded * update >= 0), "a sign has changed"
        if not self.grows:
            assert np.abs(decoded).max() <= 1.001 * np.abs(update).max(), "it has grown"

    def test_lossless_means_as_it_is(self) -> None:
        """Where it says that it is lossless, an update arrives bit for bit."""
        if self.create().lossless:
            update = np.random.default_rng(0).normal(size=300).astype(np.float32)
            assert np.array_equal(self.compress(update), update)

    def test_nothing_stays_nothing(self) -> None:
        """An update of zeros arrives as such."""
        zeros = np.zeros(20, dtype=np.float32)
        assert np.array_equal(self.compress(zeros), zeros)

    def test_same_numbers_same_code(self) -> None:
        """Chance comes from the generator that is passed in, and from nowhere else."""
        update = np.random.default_rng(0).normal(size=300).astype(np.float32)
        assert np.array_equal(self.compress(update, 1), self.compress(update, 1))

    def test_size(self) -> None:
        """Whole bytes, at least one, and no fewer for a larger model."""
        sizes = [self.create().size(parameters) for parameters in (1, 2, 10, 1000, 10**6)]
        assert all(type(size) is int and size > 0 for size in sizes), sizes
        assert all(small <= large for small, large in pairwise(sizes)), sizes
