"""What a model is to reach: an accuracy, or a value of something else that evaluations measure."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import override

from simfl.core.units.fields import Share, as_text
from simfl.core.units.quantity import LONGEST, NUMBER, plain
from simfl.core.units.share import format_share, parse_share
from simfl.errors import InputError

EXAMPLES = ("80%", "rmse 0.5")
_WORD = re.compile(r"\s*[A-Za-z_]")
_NAMED = re.compile(rf"\s*([A-Za-z_][\w-]*)(?:\s+|\s*(<=|>=|==?|[:<>])\s*)({NUMBER})\s*(%?)\s*")


class MetricTarget(float):
    """A value of a loss, an error or a metric, such as an RMSE of 0.35.

    Accuracies are plain numbers, which it never equals.

    Attributes:
        metric: what it is a value of, see `simfl.scenario.criteria.Criteria`.
    """

    metric: str

    def __new__(cls, value: float, metric: str) -> "MetricTarget":
        """Return the target."""
        target = super().__new__(cls, value)
        target.metric = metric
        return target

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return what a copy is made from."""
        return float(self), self.metric

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricTarget) and (float(self), self.metric) == (
            float(other),
            other.metric,
        )

    @override
    def __ne__(self, other: object) -> bool:  # a float has its own
        return not self == other

    @override
    def __hash__(self) -> int:
        return hash((float(self), self.metric))

    @override
    def __repr__(self) -> str:
        return f"MetricTarget({float(self)!r}, {self.metric!r})"

    @override
    def __str__(self) -> str:
        return f"{self.metric} {plain(float(self))}"


def parse_target(value: object, examples: Sequence[str] = EXAMPLES) -> float:
    """Return the accuracy, or the `MetricTarget`, that is meant.

    Args:
        value: as it is written.
        examples: of what may be written there.

    Raises:
        InputError: it is neither, or no accuracy above 0.

    >>> parse_target("60%"), parse_target("rmse 0.5"), parse_target("accuracy 60%")
    (0.6, MetricTarget(0.5, 'rmse'), 0.6)
    """
    if isinstance(value, MetricTarget):
        return value
    expected = f"expected a target such as {' or '.join(map(repr, examples))}"
    if isinstance(value, Mapping) and len(value) == 1:
        [(name, number)] = value.items()
        if _NAMED.fullmatch(written := f"{name} {number}"):
            raise InputError(f"{expected}; write it `{written}`")
    if isinstance(value, Mapping | list | tuple):
        raise InputError(f"{expected}, got {value!r}")
    if not (isinstance(value, str) and _WORD.match(value)):
        return _above_0(value)
    named = _NAMED.fullmatch(value) if len(value) <= LONGEST else None
    if named is None:
        raise InputError(f"{expected}, got {value!r}")
    name, between, number, percent = named.groups()
    if between:
        raise InputError(
            f"{expected}, got {value!r}; write it "
            f"`{name} {number}{percent}`: whether less or more is better is known"
        )
    if name == "accuracy":
        return _above_0(number + percent)
    expected = f"expected {name} and a number such as 0.5, got {value!r}"
    if percent:
        raise InputError(f"{expected}; only accuracies are written in percent")
    if not math.isfinite(float(number)):
        raise InputError(expected)
    return MetricTarget(float(number) + 0.0, name)


def _above_0(accuracy: object) -> float:
    if (share := parse_share(accuracy)) == 0:  # which every model has
        raise InputError(f"must be above 0, but got {accuracy}")
    return share


def format_target(target: float) -> str:
    """Return text that `parse_target` turns back into `target`."""
    return str(target) if isinstance(target, MetricTarget) else format_share(target)


def metric_of(target: float) -> str:
    """Return what `target` is a value of: ``accuracy`` for a plain number."""
    return target.metric if isinstance(target, MetricTarget) else "accuracy"


def target_facts(target: float) -> dict[str, Any]:
    """Return how events tell of `target`."""
    if isinstance(target, MetricTarget):
        return {"metric": target.metric, "value": float(target)}
    return {"accuracy": target}


def target_of(facts: Mapping[str, Any]) -> float:
    """Return the target that an event tells of."""
    if "metric" in facts:
        return MetricTarget(facts["value"], facts["metric"])
    return float(facts["accuracy"])


class TargetText:
    """Annotation of a float field written as ``60%``, or as ``rmse 0.5``.

    Args:
        accuracies: whether accuracies may be written, too.
    """

    def __init__(self, *, accuracies: bool = True) -> None:
        self.accuracies = accuracies
        self.examples = EXAMPLES if accuracies else EXAMPLES[1:]

    def parse(self, value: object) -> float:
        """Return the target that is meant.

        Raises:
            InputError: it is none, or an accuracy where there can't be one.
        """
        target = parse_target(value, self.examples)
        if not (self.accuracies or isinstance(target, MetricTarget)):
            raise InputError(
                "expected what evaluations measure and a value of it, such as 'rmse 0.5'; an "
                f"accuracy is written `accuracy: {format_target(target)}`"
            )
        return target

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return as_text(self.parse, format_target)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        named = {"type": "string", "pattern": rf"^\s*[A-Za-z_]\w*\s+{NUMBER}\s*%?\s*$"}
        if not self.accuracies:
            return named | {"examples": [*self.examples]}
        shares = Share().__get_pydantic_json_schema__(schema, handler)["anyOf"]
        return {"anyOf": [*shares, named], "examples": [*self.examples]}


Target = Annotated[float, TargetText()]
"""An accuracy above 0, or a `MetricTarget`."""
NamedTarget = Annotated[float, TargetText(accuracies=False)]
"""A `MetricTarget`."""
