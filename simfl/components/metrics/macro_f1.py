"""The F1 score, all classes alike: rare ones count as much as common ones."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.metrics.base import Better, QualityMetric, quality_metrics
from simfl.components.metrics.predictions import predicted_classes, true_classes
from simfl.core.types import Floats


@quality_metrics.register("macro_f1")
class MacroF1(QualityMetric):
    """The mean over classes (or labels) of 2 hits / (samples of the class + times it was said).

    A class that no sample has and that is never said is left out; such a label counts as 0, both as
    with ``sklearn.metrics.f1_score`` and ``average="macro"``.
    """

    takes: ClassVar[tuple[Targets, ...]] = ("classes", "labels")
    within: ClassVar[tuple[float, float]] = (0.0, 1.0)
    better: ClassVar[Better] = "more"
    of_answers: ClassVar[bool] = True

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        predicted, true = predicted_classes(outputs, targets), true_classes(outputs, targets)
        counted = predicted.sum(0) + true.sum(0)
        scores = 2.0 * (predicted & true).sum(0) / np.maximum(counted, 1)
        if targets.ndim == 1:
            scores = scores[counted > 0]
        return float(np.mean(scores)) if len(scores) else float("nan")
