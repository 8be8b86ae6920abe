"""The accuracy of each class, and their mean."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.metrics.answers import no_answers, said, truth
from simfl.components.metrics.base import QualityMetric, quality_metrics
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats


@quality_metrics.register("balanced_accuracy")
class BalancedAccuracy(QualityMetric):
    """The mean over classes of the share of their samples that are recognised (macro recall).

    Classes without a sample are left out (``sklearn.metrics.balanced_accuracy_score``).
    """

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        yield from no_answers(self.name, circumstances)

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        given, true = said(outputs, targets), truth(outputs, targets)
        samples = true.sum(0)
        return float(np.mean((given & true).sum(0)[samples > 0] / samples[samples > 0]))
