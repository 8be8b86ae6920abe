"""Every registered attack goes through the contract, which catches faulty ones."""

import numpy as np
import pytest

from simfl.components.attacks.base import Attack, attacks
from simfl.components.attacks.inner_product import InnerProduct
from simfl.components.attacks.label_flip import LabelFlip
from simfl.components.attacks.sign_flip import SignFlip
from simfl.testing.attacks import AttackContract
from simfl.testing.contract import suites

globals().update(suites(AttackContract, attacks))


class Harmless(Attack):
    """Nothing."""


class OneMore(LabelFlip):
    def relabel(self, labels, classes, rng):
        return labels + 1


class Double(SignFlip):
    def forge(self, update, rng):
        return update.astype(np.float64)


class InPlace(SignFlip):
    def forge(self, update, rng):
        update *= -1
        return update


class DrawsForItself(SignFlip):
    def forge(self, update, rng):
        return update * np.float32(np.random.default_rng().random())


class Spread(InnerProduct):
    def agree(self, updates, clients):
        with np.errstate(invalid="ignore", divide="ignore"):
            return (updates.mean(axis=0) / (len(updates) - 1)).astype(np.float32)


class AgreesByLot(InnerProduct):
    def agree(self, updates, clients):
        return updates[np.random.default_rng().integers(len(updates))]


@pytest.mark.parametrize(
    ("fault", "test", "sound"),
    [
        (Harmless, "test_it_does_something", SignFlip),
        (OneMore, "test_labels", LabelFlip),
        (Double, "test_one_update", SignFlip),
        (InPlace, "test_one_update", SignFlip),
        (DrawsForItself, "test_one_update", SignFlip),
        (Spread, "test_updates_that_come_together", InnerProduct),
        (AgreesByLot, "test_updates_that_come_together", InnerProduct),
    ],
)
def test_the_contract_catches(fault, test, sound, caught) -> None:
    caught(AttackContract, test, fault, sound=sound)
