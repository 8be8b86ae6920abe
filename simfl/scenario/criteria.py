"""What models are judged by: whether more or less of it is better, and who reaches a target."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simfl.components.losses.base import Loss, losses
from simfl.components.metrics.base import BETTER, Better, QualityMetric, quality_metrics
from simfl.core.evaluation import Evaluation
from simfl.core.ownership import users_own
from simfl.core.target import MetricTarget, metric_of
from simfl.core.types import Flags
from simfl.errors import nearest

_ROUNDING = 1e-12
"""Of a target: what sums of floats may fall short of it, where the sums of what they stand for do
not: of three classes 70% each are right, and the mean of 0.7, 0.7 and 0.7 is less than 0.7."""


@dataclass(frozen=True)
class Criterion:
    """Something that evaluations measure.

    Attributes:
        better: whether more or less is.
        within: the least and the most that it can be.
        metric: the name of the metric that it is the label of ("": none).
    """

    better: Better
    within: tuple[float, float] = (-math.inf, math.inf)
    metric: str = ""


@dataclass(frozen=True)
class Criteria:
    """What the models of a run are judged by.

    Attributes:
        loss: what clients minimise (None: it is not known).
        named: accuracy, or the error in its place, loss and metrics.
    """

    loss: Loss | None
    named: Mapping[str, Criterion]

    @classmethod
    def of(cls, loss: Loss | None, metrics: Iterable[QualityMetric]) -> Self:
        """Return those of a scenario.

        The error of a user's own loss is not among them: nobody can tell it without their code.

        Args:
            loss: what clients minimise (None: of a loss that is not known).
            metrics: the scenario's own.
        """
        own = loss is None or users_own([loss])
        of_loss = Criterion("less") if own else Criterion("less", (0.0, math.inf))
        named = {"accuracy": Criterion("more", (0.0, 1.0)), "loss": of_loss}
        if loss is not None and not loss.has_accuracy:
            del named["accuracy"]
            if loss.error and not own:
                named[loss.error] = of_loss
        return cls(loss, named | {m.label: Criterion(m.better, m.within, m.name) for m in metrics})

    def better(self, name: str) -> Better:
        """Return whether more or less of something is better ("": not known)."""
        return self.named[name].better if name in self.named else ""

    def at(self, target: float, values: NDArray[np.float64]) -> Flags:
        """Return which of the `values`, of any shape, are at `target`, or better (NaN is not)."""
        wanted, rounding = float(target), _ROUNDING * abs(target)
        less = self.better(metric_of(target)) == "less"
        return values <= wanted + rounding if less else values >= wanted - rounding

    def reached(self, evaluation: Evaluation, target: float) -> bool:
        """Return whether an evaluation is at `target`, or better."""
        value = self._value(evaluation, metric_of(target))
        return bool(self.at(target, np.array(value)))

    def why_unreachable(self, target: MetricTarget) -> str:
        """Return why no model can reach `target` ("": one may)."""
        name = target.metric
        if why := self.why_incomparable(name):
            return why
        low, high = self.named[name].within
        if not low <= target <= high:
            ends = {"at least": low, "at most": high}
            told = [f"{which} {end:g}" for which, end in ends.items() if math.isfinite(end)]
            return f"{name} is {' and '.join(told)}, but got {float(target):g}"
        return ""

    def why_incomparable(self, name: str) -> str:
        """Return why nobody can tell which of two models is better by `name` ("": one can)."""
        if name not in self.named:
            usual = _usual_labels()
            if metric := usual.get(name):
                how = f"`evaluation.metrics: [{metric}]` has them do"
                return f"evaluations don't measure {name!r}; {how}"
            known = [other for other in self.named if self.better(other) in BETTER]
            measured = [label for label, own in self.named.items() if own.metric == name]
            labels = measured or [label for label, metric in usual.items() if metric == name]
            return f"evaluations don't measure {name!r}{nearest(name, known + labels)}"
        better = self.better(name)
        return "" if better in BETTER else better_unknown(name, better)

    def _value(self, evaluation: Evaluation, name: str) -> float:
        """Return what an evaluation says of something (NaN: no number)."""
        if name in evaluation.metrics:
            value = evaluation.metrics[name]
        elif name == "accuracy":
            value = evaluation.accuracy
        elif self.loss is not None and name == self.loss.error and math.isfinite(evaluation.loss):
            value = self.loss.error_of(evaluation.loss)
        else:
            value = evaluation.loss if name == "loss" else None
        return math.nan if value is None else value


def better_unknown(name: str, said: str = "") -> str:
    """Return what to say of something of which it is not known whether more or less is better.

    Args:
        name: of a metric.
        said: what its class says instead.
    """
    instead = f", and not {said!r}" if said else ""
    return (
        f"whether more or less of {name!r} is better is not known; its class may say so: "
        f'`better: ClassVar = "less"`, or "more"{instead}'
    )


def measured_names() -> set[str]:
    """Return what evaluations of some scenario measure, by its usual names."""
    errors = {losses.get(name).error for name in losses.names()} - {""}
    return {"loss", *errors, *_usual_labels()}


def _usual_labels() -> dict[str, str]:
    """Return the names of metrics without options, by what evaluations call them: `top_5`."""
    return {quality_metrics.parse(name).label: name for name in quality_metrics.names()}
