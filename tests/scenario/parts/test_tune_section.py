"""A scenario's `tune` section: ranges, objectives, and mistakes with their place."""

from typing import Any

import pytest

from simfl.core.costs import LIMITED
from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from simfl.scenario.parts.tune import Limits, Range, parse_objective
from tests.runs.tuning.tuned import CLOCK, LEARNS


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"objective": "speed"}, "expected time, rounds, bytes, energy or epsilon"),
        ({"objective": "accuracy to 80%"}, "expected time, rounds, bytes, energy or"),
        ({"parameters": {}}, "at least 1"),
        ({"parameters": {"rounds.clients": {"min": 5, "max": 5}}}, "min must be below max"),
        ({"parameters": {"rounds.clients": {"min": 1, "max": "5 s"}}}, "in the same unit"),
        ({"parameters": {"rounds.clients": {"min": 0, "max": 5, "log": True}}}, "above zero"),
        ({"parameters": {"rounds.clients": {"min": "x", "max": 5}}}, "expected a number"),
        ({"under": {"bytes": 5}}, "add a unit"),
        ({"under": {"people": 5}}, "people"),
        ({"trials": 0}, "trials"),
    ],
)
def test_a_wrong_section_is_told_with_its_place(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match="tune") as error:
        Scenario.from_dict(LEARNS | {"tune": {**CLOCK, **spec}})
    assert told in str(error.value)
    assert "or expected a list" not in str(error.value)  # where a mapping was meant


@pytest.mark.parametrize(
    ("bounds", "value", "written"),
    [
        (("10 s", "2 min"), None, None),
        (("10 s", "60 s"), 37.12345, "37.12 s"),
        (("10%", "60%"), 33.333, "33.33%"),
        ((1, 5), 3.0, 3),
        ((0.1, 5), 0.123456, 0.1235),
        ((0.9, 0.99999), 0.99998, 0.99998),  # not 1, which no momentum may be
        ((10000.5, 12345.5), 12345.4, 12345.4),
        (("1 s", "12345.6 s"), 12345.6, "12345.6 s"),
    ],
)
def test_a_range_writes_numbers_as_its_bounds_are(
    bounds: tuple[Any, Any], value: float | None, written: Any
) -> None:
    if value is None:
        with pytest.raises(ValueError, match="same unit"):
            Range(min=bounds[0], max=bounds[1])
        return
    assert Range(min=bounds[0], max=bounds[1]).written(value) == written


@pytest.mark.parametrize(("least", "unit"), [("1 EFLOP/s", "EFLOP/s"), ("1e3 s", "s"), (3, "")])
def test_a_range_has_its_bounds_unit(least: Any, unit: str) -> None:
    assert Range(min=least, max=str(least).replace("1", "5", 1) if unit else 9).unit == unit


def test_objectives_name_a_measure_and_perhaps_a_target() -> None:
    assert parse_objective("time to 80%") == ("time", 0.8)
    assert parse_objective("energy") == ("energy", None)
    assert parse_objective("loss") == ("loss", None)
    with pytest.raises(ValueError, match="'time to 80%', or loss, or accuracy"):
        parse_objective("loss to 80%")


def test_every_limit_that_there_is_can_be_given() -> None:
    """The help of --under named them by hand."""
    assert {*Limits.model_fields} == {*LIMITED}
