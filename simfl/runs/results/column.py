"""What a column of a comparison tells, and what it is called in tables for programs."""

from contextlib import suppress
from dataclasses import dataclass

from simfl.core.target import MetricTarget, parse_target
from simfl.errors import InputError
from simfl.runs.results.metric import PER_ROUND, Metric


@dataclass(frozen=True)
class Column:
    """One column of a comparison.

    Attributes:
        metric: what is measured.
        target: the accuracy, or other number, until which (None: of the whole run).
        versus: the variant compared with (None: the number itself).
        ideal: the variant whose difference from `versus` is 1 (None: none).
        counted: whether it tells with how many seeds less is needed than `versus` needs.
    """

    metric: Metric
    target: float | None = None
    versus: str | None = None
    ideal: str | None = None
    counted: bool = False

    @property
    def key(self) -> str:
        """Its name in tables for programs."""
        if self.ideal is not None:
            return "relative_improvement"
        name = self.metric.cost if self.target is not None else self.metric.name
        if self.versus is not None:
            said = "sooner" if self.counted else "speedup" if self.divided else "difference"
            name = f"{self.metric.stem}_{said}"
        if self.target is None:
            return name
        return f"{name}_to_{target_text(self.target).replace(' ', '_')}"

    @property
    def divided(self) -> bool:
        """Whether it tells how many times as much the variant compared with takes."""
        cost = self.target is not None or self.metric in PER_ROUND.values()
        return self.versus is not None and cost


def compares(key: str) -> bool:
    """Return whether a column of that name would compare variants, whatever it is of."""
    name = key.partition("_to_")[0]
    return name.endswith(("_sooner", "_speedup", "_difference")) or key == "relative_improvement"


def target_in(key: str) -> str:
    """Return the target that the key of a column ends with ("": none)."""
    _, _, end = key.partition("_to_")
    target = " ".join(end.rsplit("_", 1))
    with suppress(InputError):
        if target.endswith("%") or isinstance(parse_target(target), MetricTarget):
            return target
    return ""


def target_text(target: float) -> str:
    """Return what is asked about.

    >>> target_text(0.7), target_text(0.625), target_text(MetricTarget(0.35, "rmse"))
    ('70%', '62.5%', 'rmse 0.35')
    """
    if isinstance(target, MetricTarget):
        return f"{target.metric} {target:.10g}"
    return f"{100 * target:.10g}%"
