"""The suites of kinds that are to remember nothing find out who does."""

from typing import Any

import numpy as np
import pytest
from pydantic import PrivateAttr

from simfl.components.attacks.base import Attack, Update
from simfl.components.coresets.base import Coreset
from simfl.components.metrics.base import QualityMetric
from simfl.core.types import Floats, Ids, Rng
from simfl.testing.attacks import AttackContract
from simfl.testing.coresets import CoresetContract
from simfl.testing.metrics import MetricContract


class Growing(Attack):
    """More each time."""

    _factor: float = PrivateAttr(1.0)

    def forge(self, update: Update, rng: Rng) -> Update:
        self._factor *= 2
        return np.float32(self._factor) * update


class Onward(Coreset):
    """The next rows each time."""

    _first: int = PrivateAttr(0)

    def choose(self, features: Floats, labels: Ids, size: int, rng: Rng) -> tuple[Ids, Floats]:
        b = min(size, len(labels))
        rows = np.sort((self._first + np.arange(b)) % len(labels))
        self._first += 1
        return rows, np.full(b, len(labels) / b)


class Counting(QualityMetric):
    """How often it was asked."""

    _asked: int = PrivateAttr(0)

    def of(self, outputs: Any, targets: Any) -> float:
        self._asked += 1
        return float(self._asked)


@pytest.mark.parametrize(
    ("suite", "component", "test"),
    [
        (AttackContract, Growing, "test_one_update"),
        (CoresetContract, Onward, "test_same_numbers_same_coreset"),
        (MetricContract, Counting, "test_the_order_of_samples_is_no_matter"),
    ],
)
def test_who_remembers_does_not_pass(suite: type, component: type, test: str) -> None:
    own = type("Own", (suite,), {"create": component})
    with pytest.raises(AssertionError):
        getattr(own(), test)()
