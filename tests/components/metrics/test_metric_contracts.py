"""Every registered metric under the contract, which catches faulty ones."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.metrics.base import BETTER, QualityMetric, quality_metrics
from simfl.components.metrics.macro_f1 import MacroF1
from simfl.components.metrics.mean_absolute_error import MeanAbsoluteError
from simfl.core.types import Floats
from simfl.testing.contract import suites
from simfl.testing.metrics import MetricContract

globals().update(suites(MetricContract, quality_metrics))


def test_what_is_better_is_known_of_all() -> None:
    for name in quality_metrics.names():
        assert quality_metrics.get(name).better in BETTER


class OfEachClass(MacroF1):
    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        return outputs.mean(0)


class Sorts(MacroF1):
    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        outputs.sort(0)
        return super().of(outputs, targets)


class FirstHalf(MeanAbsoluteError):
    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        half = len(outputs) // 2
        return super().of(outputs[:half], targets[:half])


class Unnamed(MeanAbsoluteError):
    @property
    @override
    def label(self) -> str:
        return "mean error"


class Lower(MeanAbsoluteError):
    better: ClassVar[Any] = "lower"


class Infinite(MacroF1):
    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        return float(np.inf)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (OfEachClass, "test_one_finite_number"),
        (Sorts, "test_one_finite_number"),
        (Infinite, "test_one_finite_number"),
        (FirstHalf, "test_the_order_of_samples_is_no_matter"),
        (Unnamed, "test_its_column_has_a_name"),
        (Lower, "test_it_says_which_of_two_is_better_or_nothing"),
    ],
)
def test_the_contract_catches(
    fault: type[QualityMetric], test: str, caught: Callable[..., None]
) -> None:
    caught(MetricContract, test, fault, sound=MacroF1)
