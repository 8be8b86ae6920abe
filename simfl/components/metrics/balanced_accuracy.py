"""The accuracy of each class, and their mean."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.metrics.base import Better, QualityMetric, quality_metrics
from simfl.components.metrics.predictions import predicted_classes, true_classes
from simfl.core.types import Floats


@quality_metrics.register("balanced_accuracy")
class BalancedAccuracy(QualityMetric):
    """The mean over classes of the share of their samples that are recognised (macro recall).

    Classes without a sample are left out (``sklearn.metrics.balanced_accuracy_score``).
    """

    within: ClassVar[tuple[float, float]] = (0.0, 1.0)
    better: ClassVar[Better] = "more"
    of_answers: ClassVar[bool] = True

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        predicted, true = predicted_classes(outputs, targets), true_classes(outputs, targets)
        samples = true.sum(0)
        return float(np.mean((predicted & true).sum(0)[samples > 0] / samples[samples > 0]))
