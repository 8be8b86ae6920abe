"""The contract of every coreset, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable
from typing import get_args

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.coresets.base import Coreset, Features
from simfl.core.types import Floats, Ids
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, unchanged


class CoresetContract(ComponentContract):
    """What holds for every coreset; inherit and set `create`."""

    create: Callable[..., Coreset]

    def choose(
        self, features: Floats, labels: Ids, size: int, seed: int = 0, method: Coreset | None = None
    ) -> tuple[Ids, Floats]:
        """Return a coreset, chosen by a `method` (None: a new one), once it is what it must be."""
        before, method = (features.copy(), labels.copy()), method or self.create()
        rows, weights = method.choose(features, labels, size, np.random.default_rng(seed))
        unchanged((features, labels), before)
        m = len(labels)
        assert rows.shape == weights.shape == (min(size, m),), f"{rows} for {size} of {m}"
        assert np.issubdtype(rows.dtype, np.integer), rows.dtype
        assert np.all(np.diff(rows) > 0), f"not ascending and distinct: {rows}"
        assert ((rows >= 0) & (rows < m)).all(), rows
        assert (weights > 0).all(), weights
        assert np.isclose(weights.sum(), m), f"weights sum to {weights.sum()}, not to {m}"
        return rows, weights

    @RELAXED
    @given(seed=SEEDS, m=st.integers(1, 40), size=st.integers(1, 45), classes=st.integers(1, 5))
    def test_rows_and_weights(self, seed: int, m: int, size: int, classes: int) -> None:
        """Whatever the features, the labels and the size."""
        rng = np.random.default_rng(seed)
        self.choose(rng.normal(size=(m, 3)), rng.integers(0, classes, m), size, seed)

    @RELAXED
    @given(m=st.integers(1, 20), size=st.integers(1, 20), value=st.sampled_from([0.0, 1.0]))
    def test_all_samples_alike(self, m: int, size: int, value: float) -> None:
        """Equal features leave nothing to choose by."""
        self.choose(np.full((m, 3), value), np.zeros(m, dtype=np.int64), size)

    def test_same_numbers_same_coreset(self) -> None:
        """Chance comes from the generator that is passed in, and from nowhere else.

        Nothing is remembered: who has chosen before chooses the same again.
        """
        method = self.create()
        features, labels = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
        one, other = (self.choose(features, labels, 7, 4, method) for _ in range(2))
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])

    def test_it_says_which_features_it_wants(self) -> None:
        """Of a convex model and of a deep one."""
        for convex in (True, False):
            assert self.create().uses(convex) in get_args(Features)
