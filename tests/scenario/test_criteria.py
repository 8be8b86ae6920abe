"""By what models are judged, and which targets none of them can ever reach."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest

from simfl.components.losses.base import losses
from simfl.components.metrics.balanced_accuracy import BalancedAccuracy
from simfl.components.metrics.base import Better, QualityMetric
from simfl.core.evaluation import Evaluation
from simfl.core.target import MetricTarget
from simfl.scenario.criteria import Criteria


class Skill(QualityMetric):
    """The share of a baseline's error that is avoided: one at best, and without a worst."""

    within: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    better: ClassVar[Better] = "more"

    def of(self, outputs: Any, targets: Any) -> float:
        return float(outputs.mean())


REGRESSION = Criteria.of(losses.parse("mean_squared_error"), [Skill()])


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (MetricTarget(-9, "skill"), ""),
        (MetricTarget(2, "skill"), "skill is at most 1, but got 2"),
        (MetricTarget(-2, "rmse"), "rmse is at least 0, but got -2"),
        (MetricTarget(-2, "loss"), "loss is at least 0, but got -2"),
        (MetricTarget(0.5, "skil"), "evaluations don't measure 'skil'; did you mean 'skill'?"),
    ],
)
def test_what_no_model_can_reach(target: MetricTarget, why: str) -> None:
    assert REGRESSION.why_unreachable(target) == why


@pytest.mark.parametrize(
    ("target", "hits"),
    [
        (MetricTarget(0.5, "skill"), [False, True, True, False]),
        (MetricTarget(0.5, "rmse"), [True, True, False, False]),
    ],
)
def test_at_it_or_better(target: MetricTarget, hits: list[bool]) -> None:
    values = np.array([0.4, 0.5, 0.6, math.nan])
    assert REGRESSION.at(target, values).tolist() == hits
    for value, hit in zip(values.tolist(), hits, strict=True):
        judged = Evaluation(None, value**2, {"skill": None if math.isnan(value) else value})
        assert REGRESSION.reached(judged, target) == hit


def test_a_share_that_is_at_it_but_for_rounding_is_at_it() -> None:
    """Seven of ten are right in each of three classes; the mean of the three is below 0.7."""
    metric = BalancedAccuracy()
    right = np.tile(np.arange(10) < 7, 3)
    true = np.repeat(np.arange(3), 10)
    said = np.where(right, true, (true + 1) % 3)
    value = metric.of(np.eye(3)[said], true)
    assert value < 0.7
    criteria = Criteria.of(losses.parse("cross_entropy"), [metric])
    judged = Evaluation(0.7, 1.0, {"balanced_accuracy": value})
    assert criteria.reached(judged, MetricTarget(0.7, "balanced_accuracy"))
    assert not criteria.reached(judged, MetricTarget(0.700001, "balanced_accuracy"))
