"""The contract of every update filter, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.filters.base import Update, UpdateFilter
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, unchanged


class FilterContract(ComponentContract):
    """What holds for every update filter; inherit and set `create`."""

    create: Callable[..., UpdateFilter]

    def choose(self, updates: Sequence[Update], reference: Update | None, round_: int) -> list[int]:
        """Return which updates count and check what that must always be."""
        before = [update.copy() for update in updates]
        kept = self.create().choose(updates, reference, round_)
        unchanged(list(updates), before)
        assert kept == sorted(set(kept)), f"not ascending and distinct: {kept}"
        assert set(kept) <= set(range(len(updates))), f"{kept} of {len(updates)}"
        return kept

    @RELAXED
    @given(seed=SEEDS, n=st.integers(0, 8), round_=st.integers(1, 9), first=st.booleans())
    def test_positions(self, seed: int, n: int, round_: int, first: bool) -> None:
        """Ascending ones of the updates that are there, the same whenever asked."""
        rng = np.random.default_rng(seed)
        updates = list(rng.normal(size=(n, 12)).astype(np.float32))
        reference = None if first else rng.normal(size=12).astype(np.float32)
        kept = self.choose(updates, reference, round_)
        assert kept == self.choose(updates, reference, round_)

    @RELAXED
    @given(seed=SEEDS, round_=st.integers(1, 9))
    def test_who_goes_with_all_others_counts(self, seed: int, round_: int) -> None:
        """An update equal to the reference, and to everybody else's."""
        update = np.random.default_rng(seed).normal(size=12).astype(np.float32)
        assert self.create().keep(update, update, round_) is True
        assert self.choose([update, update.copy()], update.copy(), round_) == [0, 1]

    def test_without_a_reference_everybody_counts(self) -> None:
        """As in the first round, where the client decides."""
        update = np.ones(12, dtype=np.float32)
        assert self.create().keep(update, None, 1) is True

    def test_stage(self) -> None:
        """It decides on the client, on the server, or nothing at all."""
        assert self.create().stage in ("client", "server", "none")
