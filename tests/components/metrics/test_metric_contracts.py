"""Every registered metric under the contract, which catches faulty ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.metrics.base import QualityMetric, quality_metrics
from simfl.components.metrics.macro_f1 import MacroF1
from simfl.components.metrics.mean_absolute_error import MeanAbsoluteError
from simfl.core.types import Floats
from simfl.testing.contract import suites
from simfl.testing.metrics import MetricContract

globals().update(suites(MetricContract, quality_metrics))


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
    ],
)
def test_the_contract_catches(
    fault: type[QualityMetric], test: str, caught: Callable[..., None]
) -> None:
    caught(MetricContract, test, fault, sound=MacroF1)
