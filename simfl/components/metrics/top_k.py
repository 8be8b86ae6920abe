"""Accuracy where the right class need only be among the likeliest."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.metrics.base import Better, QualityMetric, quality_metrics
from simfl.components.metrics.predictions import class_scores
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats


@quality_metrics.register("top_k")
class TopK(QualityMetric):
    """The share of samples of whose classes fewer than k score higher than the right one."""

    within: ClassVar[tuple[float, float]] = (0.0, 1.0)
    better: ClassVar[Better] = "more"

    k: int = Field(5, ge=1, description="number of classes that count as a hit for one sample")

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if circumstances.targets == "classes" and self.k >= max(circumstances.classes, 2):
            yield f"top_k with k {self.k} is always 1: there are {circumstances.classes} classes"

    @property
    @override
    def label(self) -> str:
        return f"top_{self.k}"

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        scores = class_scores(outputs, targets)
        right = np.take_along_axis(scores, targets[:, None], axis=1)
        return float(((~(scores <= right)).sum(1) < self.k).mean())
