"""Every registered filter goes through the contract, which catches faulty ones."""

from typing import Any, ClassVar

import numpy as np
import pytest

from simfl.components.filters.base import filters
from simfl.components.filters.cmfl import Cmfl
from simfl.testing.contract import suites
from simfl.testing.filters import FilterContract

globals().update(suites(FilterContract, filters))
SERVER_SIDE = staticmethod(lambda: Cmfl(variant="current_mean"))
Test_on_the_server = type("Test_on_the_server", (FilterContract,), {"create": SERVER_SIDE})


class Twice(Cmfl):
    def choose(self, updates, reference, round_):
        return 2 * super().choose(updates, reference, round_)


class TakesTheBest(Cmfl):
    def choose(self, updates, reference, round_):
        return [int(np.argmax([float(np.linalg.norm(update)) for update in updates] or [0]))]


class DrawsForItself(Cmfl):
    def choose(self, updates, reference, round_):
        return [i for i in range(len(updates)) if np.random.default_rng().random() < 0.5]


class Contrary(Cmfl):
    def keep(self, update, reference, round_):
        return reference is None or not super().keep(update, reference, round_)


class NeedsAReference(Cmfl):
    def keep(self, update, reference, round_):
        return reference is not None and super().keep(update, reference, round_)


class Nowhere(Cmfl):
    stage: ClassVar[Any] = "nowhere"


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Twice, "test_positions"),
        (TakesTheBest, "test_positions"),
        (DrawsForItself, "test_positions"),
        (Contrary, "test_who_goes_with_all_others_counts"),
        (NeedsAReference, "test_without_a_reference_everybody_counts"),
        (Nowhere, "test_stage"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(FilterContract, test, fault, sound=Cmfl)
