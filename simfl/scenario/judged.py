"""What evaluations measure, by name, whether more or less of it is better, and who reaches what."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from simfl.components.losses.base import Loss, losses
from simfl.components.metrics.base import BETTER, Better, QualityMetric, quality_metrics
from simfl.core.at_work import users_own
from simfl.core.evaluation import Evaluation
from simfl.core.target import MetricTarget, metric_of
from simfl.errors import nearest


@dataclass(frozen=True)
class Judged:
    """Something that evaluations measure.

    Attributes:
        better: whether more or less is.
        within: the least and the most that it can be.
    """

    better: Better
    within: tuple[float, float] = (-math.inf, math.inf)


def judged(loss: Loss | None, metrics: Iterable[QualityMetric]) -> dict[str, Judged]:
    """Return what models are judged by: accuracy, or the error in its place, loss and metrics.

    The error of a user's own loss is not among them, as nobody can tell it without their code.

    Args:
        loss: what clients minimise (None: of a loss that is not known).
        metrics: the scenario's own.
    """
    named = {"accuracy": Judged("more", (0.0, 1.0)), "loss": Judged("less")}
    if loss is not None and not loss.has_accuracy:
        del named["accuracy"]
        if loss.error and not users_own([loss]):
            named[loss.error] = Judged("less", (0.0, math.inf))
    return named | {m.label: Judged(m.better, m.within) for m in metrics}


def measured_names() -> set[str]:
    """Return what evaluations of some scenario measure, by its usual names."""
    errors = {losses.get(name).error for name in losses.names()} - {""}
    return {"loss", *errors, *quality_metrics.names()}


def why_not(target: MetricTarget, known: Mapping[str, Judged]) -> str:
    """Return why no model can reach `target` ("": one may).

    Args:
        target: what is waited for.
        known: what models are judged by.
    """
    name = target.metric
    if why := unmeasured(name, known):
        return why
    low, high = known[name].within
    if not low <= target <= high:
        at_most = "" if math.isinf(high) else f" and at most {high:g}"
        return f"{name} is at least {low:g}{at_most}, but got {float(target):g}"
    return ""


def unmeasured(name: str, known: Mapping[str, Judged]) -> str:
    """Return why nobody can tell which of two models is better by `name` ("": one can).

    Args:
        name: what they would be judged by.
        known: what they are judged by.
    """
    if name not in known:
        if name in quality_metrics.names():
            return f"evaluations don't measure {name!r}; `evaluation.metrics: [{name}]` has them do"
        hint = nearest(name, [other for other in known if known[other].better in BETTER])
        return f"evaluations don't measure {name!r}{hint}"
    if known[name].better not in BETTER:
        return (
            f"whether more or less of {name!r} is better is not known; its class may say so: "
            '`better: ClassVar = "less"`'
        )
    return ""


def value_of(evaluation: Evaluation, name: str, loss: Loss | None) -> float:
    """Return what an evaluation says of something that models are judged by (NaN: no number)."""
    if name in evaluation.metrics:
        value = evaluation.metrics[name]
    elif name == "accuracy":
        value = evaluation.accuracy
    elif loss is not None and name == loss.error and math.isfinite(evaluation.loss):
        value = loss.error_of(evaluation.loss)
    else:
        value = evaluation.loss if name == "loss" else None
    return math.nan if value is None else value


@dataclass(frozen=True)
class Yardstick:
    """Tells who reaches a target.

    Attributes:
        loss: what clients minimise (None: it is not known).
        better: whether more or less is, of what models are judged by.
    """

    loss: Loss | None
    better: Mapping[str, Better]

    @classmethod
    def of(cls, loss: Loss | None, metrics: Iterable[QualityMetric]) -> Self:
        """Return that of a scenario, see `judged`."""
        return cls(loss, {name: what.better for name, what in judged(loss, metrics).items()})

    def reached(self, evaluation: Evaluation, target: float) -> bool:
        """Return whether an evaluation is at `target`, or better; no number never is."""
        name = metric_of(target)
        value = value_of(evaluation, name, self.loss)
        return value <= target if self.better.get(name) == "less" else value >= target
