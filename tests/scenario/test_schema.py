"""The JSON Schema agrees with the reader on what is a scenario, as far as a schema can."""

import re
from importlib.resources import files
from typing import Any

import pytest
from test_scenario import FULL, MINIMAL

from simfl.scenario import Document, Scenario
from simfl.scenario.kinds import KINDS, registry
from simfl.scenario.schema import scenario_schema

SCHEMA = scenario_schema()

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
    "boolean": bool, "null": type(None),
}  # fmt: skip
BOUNDS: dict[str, Any] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "pattern": lambda value, pattern: re.search(pattern, value) is not None,
    "const": lambda value, const: value == const,
    "enum": lambda value, options: value in options,
}
ANNOTATIONS = {"description", "default", "examples", "format", "title", "$defs", "$schema"}


def fits(value: Any, schema: Any) -> bool:
    """Return whether `value` meets a JSON Schema; fails the test on keywords it does not know."""
    if isinstance(schema, bool):
        return schema
    for word, content in schema.items():
        if word == "type":
            if not isinstance(value, TYPES[content]):
                return False
            if isinstance(value, bool) and content in ("integer", "number"):
                return False
        elif word == "$ref":
            if not fits(value, SCHEMA["$defs"][content.removeprefix("#/$defs/")]):
                return False
        elif word == "anyOf":
            if not any(fits(value, one) for one in content):
                return False
        elif word == "oneOf":
            if sum(fits(value, one) for one in content) != 1:
                return False
        elif word == "required":
            if isinstance(value, dict) and not set(content) <= set(value):
                return False
        elif word == "properties":
            if isinstance(value, dict) and not all(
                fits(value[key], one) for key, one in content.items() if key in value
            ):
                return False
        elif word == "additionalProperties":
            known = set(schema.get("properties", {}))
            if isinstance(value, dict) and not all(
                fits(item, content) for key, item in value.items() if key not in known
            ):
                return False
        elif word == "patternProperties":
            for pattern, one in content.items():
                if not all(
                    fits(item, one) for key, item in value.items() if re.search(pattern, key)
                ):
                    return False
        elif word == "propertyNames":
            if not all(fits(key, content) for key in value):
                return False
        elif word == "items":
            if isinstance(value, list) and not all(fits(item, content) for item in value):
                return False
        elif word in BOUNDS:
            try:
                if not BOUNDS[word](value, content):
                    return False
            except TypeError:
                continue  # bounds on numbers say nothing about text
        else:
            assert word in ANNOTATIONS, f"unknown keyword {word}"
    return True


GOOD = {
    "minimal": MINIMAL,
    "full": Document.parse(FULL).data,
    "starter": Document.parse(files("simfl.cli").joinpath("starter.yaml").read_text("utf-8")).data,
}


@pytest.mark.parametrize("name", GOOD)
def test_accepts_scenarios_as_written_and_written_out(name: str) -> None:
    assert fits(GOOD[name], SCHEMA)
    assert fits(Scenario.from_dict(GOOD[name]).to_dict(), SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        "rounds.client=10",
        "rounds.clients=0",
        "fleet.uplink=10",
        "fleet.uplink=fast",
        "fleet.count=-1",
        "fleet.compute={distribution: gauss, mean: 1 samples/s}",
        "fleet.compute={distribution: normal, mean: 1 samples/s, sigma: 1}",
        "selection=unifrom",
        "selection={name: uniform, warmup: 3}",
        "selection={warmup: 3}",
        "training.workload={name: coreset, method: kmedoids}",
        "rounds.policy={deadline: {straglers: 30%}}",
        "network=10",
        "evaluation.targets=[7]",
        "seed=-1",
        "model=null",
    ],
)
def test_refuses_what_the_reader_refuses(change: str) -> None:
    assert not fits(Document.of(MINIMAL).set(change).data, SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        "selection=some.plugin:Selector",
        "selection={name: 'some.plugin:Selector', option: 3}",
        "network={server_uplink: 1 Gbit/s}",
        "training.workload={name: coreset, method: {name: k_medoids}}",
        "training.optimizer=sgd",
        "training.lr_schedule=constant",
        "seeds=0-4",
        "rounds.clients=10%",
    ],
)
def test_accepts_shorter_ways(change: str) -> None:
    assert fits(Document.of(MINIMAL).set(change).data, SCHEMA)


def test_names_every_component() -> None:
    for kind in set(KINDS) - {"executors"}:
        named = [one.get("const") for one in SCHEMA["$defs"][kind]["oneOf"]]
        assert [name for name in named if name is not None] == registry(kind).names()
