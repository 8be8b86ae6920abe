"""Tuning: which numbers or components of a scenario are to be chosen, to what end, within what."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from simfl.core.costs import TUNED
from simfl.core.target import parse_target
from simfl.core.units import DataSize, Duration, Energy, Share
from simfl.core.units.quantity import NUMBER
from simfl.core.words import either
from simfl.scenario.parts.part import Count, Part
from simfl.scenario.parts.sweep import Values

Number = int | float | str
_MEASURED = re.compile(rf"({NUMBER})\s*(\S.*)?")
_OBJECTIVE = re.compile(r"([A-Za-z_]\w*)(?:\s+to\s+(\S.*))?")


class Range(Part):
    """Everything from one number to another: whole numbers if both are."""

    min: Number = Field(description="the lower limit: a number, or a quantity such as 10 s or 30%")
    max: Number = Field(description="the upper limit, in the same unit")
    log: bool = Field(False, description="search on a logarithmic scale")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        low, high = (_measured(bound) for bound in (self.min, self.max))
        if low[1] != high[1]:
            raise ValueError(f"expected min and max in the same unit, got {self.min}, {self.max}")
        if not low[0] < high[0]:
            raise ValueError(f"min must be below max, got {self.min} and {self.max}")
        if self.log and low[0] <= 0:
            raise ValueError(f"log: min must be above zero, got {self.min}")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Both numbers, without their unit."""
        return float(_measured(self.min)[0]), float(_measured(self.max)[0])

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.min, int) and isinstance(self.max, int)

    @property
    def unit(self) -> str:
        """The unit of both, as written ("": they have none)."""
        return _measured(self.min)[1]

    def written(self, value: float) -> Any:
        """Return a number between the two as a scenario has it, with four digits."""
        if self.whole:
            return int(value)
        short = f"{value:.4g}"
        least, most = self.bounds
        if not least <= float(short) <= most:  # rounded beyond them
            short = repr(min(max(value, least), most))
        if not self.unit:
            return float(short)
        return f"{short}{'' if self.unit == '%' else ' '}{self.unit}"


def _measured(bound: Number) -> tuple[float, str]:
    match = _MEASURED.fullmatch(str(bound).strip())
    if match is None or isinstance(bound, bool):
        raise ValueError(f"expected a number, or a quantity such as '10 s', got {bound!r}")
    return float(match[1]), match[2] or ""


EXPECTED = f"expected {either(TUNED)}, each with or without a target, such as 'time to 80%'"


def _objective(text: str) -> str:
    parse_objective(text)
    return text


def parse_objective(text: str) -> tuple[str, float | None]:
    """Return what ``time to 80%`` asks for, and the target until which (None: the whole run).

    Raises:
        ValueError: it is no objective.
    """
    match = _OBJECTIVE.fullmatch(text.strip())
    if match is None or (match[1] not in TUNED and match[2]):
        raise ValueError(f"{EXPECTED}, or loss, or accuracy, or a metric, got {text!r}")
    return match[1], parse_target(match[2]) if match[2] else None


class Limits(Part):
    """What a choice may take at most, in the median over seeds."""

    time: Duration | None = Field(None, description="virtual time")
    rounds: Count | None = None
    bytes: DataSize | None = Field(None, description="total moved, in both directions")
    energy: Energy | None = Field(None, description="total spent by devices at work")
    wasted: Annotated[float, Share()] | None = Field(None, description="share of wasted bytes")
    never_heard: Annotated[float, Share()] | None = Field(
        None, description="share of devices none of whose updates counted"
    )
    epsilon: Annotated[float, Field(ge=0)] | None = Field(
        None, description="privacy spent, by the client whose updates counted most often"
    )


class Tune(Part):
    """What `simfl tune` looks for."""

    parameters: dict[str, Range | Values] = Field(
        min_length=1,
        max_length=50,
        description="a path -> {min, max} or a list of values, as in a sweep",
    )
    objective: Annotated[str, AfterValidator(_objective)] = Field(
        description=f"minimise {either(TUNED)}, such as time to 80% or time to rmse 0.5, or the "
        "last model's loss; or maximise its accuracy; or one of `evaluation.metrics`, whichever "
        "way is better"
    )
    under: Limits = Field(
        default_factory=Limits, description="upper limits that a choice must respect"
    )
    trials: Count = Field(30, description="number of choices to try")

    @property
    def limits(self) -> dict[str, float]:
        """What may be taken at most, by name."""
        return {name: float(most) for name, most in self.under if most is not None}

    @property
    def measured(self) -> str:
        """What the objective is of: one of `TUNED`, or what models are judged by."""
        return parse_objective(self.objective)[0]

    @property
    def target(self) -> float | None:
        """The accuracy, or other number, until which (None: of the whole run)."""
        return parse_objective(self.objective)[1]
