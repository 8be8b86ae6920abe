"""The contract of every attack, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.attacks.base import Attack
from simfl.core.component import overrides
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, finite_vector, unchanged

ITS_OWN = "it draws for itself, or remembers something"


class AttackContract(ComponentContract):
    """What holds for every attack; inherit and set `create`."""

    create: Callable[..., Attack]

    def test_it_does_something(self) -> None:
        """To labels, to one update, or to those that come together."""
        ways = Attack.relabel, Attack.forge, Attack.agree
        assert any(overrides(self.create(), way) for way in ways)

    @RELAXED
    @given(seed=SEEDS, n=st.integers(0, 30), classes=st.integers(2, 12))
    def test_labels(self, seed: int, n: int, classes: int) -> None:
        """As many as there were, each of a class; chance comes from the generator alone."""
        attack = self.create()
        labels = np.random.default_rng(seed).integers(classes, size=n)
        before = labels.copy()
        wrong = attack.relabel(labels, classes, np.random.default_rng(seed))
        unchanged(labels, before)
        again = attack.relabel(labels, classes, np.random.default_rng(seed))
        assert wrong.shape == (n,)
        assert wrong.dtype.kind in "iu", f"labels of {wrong.dtype}"
        assert ((wrong >= 0) & (wrong < classes)).all(), f"{wrong} of {classes} classes"
        assert np.array_equal(wrong, again), ITS_OWN

    @RELAXED
    @given(seed=SEEDS, p=st.integers(1, 50))
    def test_one_update(self, seed: int, p: int) -> None:
        """Finite float32 numbers, as many; chance comes from the generator alone."""
        attack = self.create()
        update = np.random.default_rng(seed).normal(size=p).astype(np.float32)
        before = update.copy()
        forged = attack.forge(update, np.random.default_rng(seed))
        unchanged(update, before)
        again = attack.forge(update, np.random.default_rng(seed))
        finite_vector(forged, p, "an update")
        assert np.array_equal(forged, again), ITS_OWN

    @RELAXED
    @given(seed=SEEDS, p=st.integers(1, 50), attackers=st.integers(1, 5), others=st.integers(0, 5))
    def test_updates_that_come_together(
        self, seed: int, p: int, attackers: int, others: int
    ) -> None:
        """One update for all, of one attacker alone and of a majority, too; nothing is drawn."""
        attack = self.create()
        if not overrides(attack, Attack.agree):
            return
        updates = np.random.default_rng(seed).normal(size=(attackers, p)).astype(np.float32)
        before = updates.copy()
        agreed = attack.agree(updates, attackers + others)
        unchanged(updates, before)
        finite_vector(agreed, p, "an update")
        again = attack.agree(updates, attackers + others)
        assert np.array_equal(agreed, again), ITS_OWN
