"""The mean absolute error of regression."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.metrics.base import Better, QualityMetric, quality_metrics
from simfl.core.types import Floats


@quality_metrics.register("mean_absolute_error")
class MeanAbsoluteError(QualityMetric):
    """The mean distance of outputs from targets, in their unit."""

    takes: ClassVar[tuple[Targets, ...]] = ("numbers",)
    within: ClassVar[tuple[float, float]] = (0.0, math.inf)
    better: ClassVar[Better] = "less"

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        return float(np.abs(outputs - targets.reshape(outputs.shape)).mean())
