"""The JSON Schema agrees with the reader on what is a scenario, as far as a schema can."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from simfl.errors import InputError
from simfl.scenario import Document, Scenario
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.reference.kinds import KINDS, registry
from simfl.scenario.reference.schema import scenario_schema
from tests.scenario.written import FULL, MINIMAL

SCHEMA = scenario_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").rglob("*.yaml"))


def fits(value: Any) -> bool:
    return VALIDATOR.is_valid(value)


def test_it_is_strict_json_and_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_accepts_the_scenarios_of_this_repository(file: Path) -> None:
    data = Document.load(file).data
    assert not [error.message for error in VALIDATOR.iter_errors(data)]


GOOD = {
    "minimal": MINIMAL,
    "full": Document.parse(FULL).data,
    "starter": Document.parse(files("simfl.cli").joinpath("starter.yaml").read_text("utf-8")).data,
}


@pytest.mark.parametrize("name", GOOD)
def test_accepts_scenarios_as_written_and_written_out(name: str) -> None:
    assert fits(GOOD[name])
    assert fits(Scenario.from_dict(GOOD[name]).to_dict())


@pytest.mark.parametrize(
    "change",
    [
        "rounds.client=10",
        "rounds.clients=0",
        "fleet.uplink=10",
        "fleet.uplink=fast",
        "fleet.uplink=5 furlongs/s",
        "fleet.uplink=10 Mb/s",
        "fleet.compute=5 m",
        "fleet.latency=1 h 5 parsec",
        "rounds.stop.time=1 MB/s",
        "fleet.count=-1",
        "fleet.compute={distribution: gauss, mean: 1 samples/s}",
        "fleet.compute={distribution: normal, mean: 1 samples/s, sigma: 1}",
        "selection=unifrom",
        "selection={name: uniform, warmup: 3}",
        "selection={warmup: 3}",
        "training.workload={name: coreset, method: kmedoids}",
        "rounds.policy={deadline: {straglers: 30%}}",
        "rounds.policy={deadline: soon}",
        "network=10",
        "evaluation.targets=[7]",
        "evaluation.targets=[rmse]",
        "evaluation.targets=[{rmse: 1}]",
        "rounds.stop.target=80%",
        "seed=-1",
        "model=null",
        "fleet.device=phone",
        "variants={a: {training.workload: ful}}",
        "variants={a: {training.epoch: 3, training.epochs: many}}",
        "variants={a: {rounds.stop.time: 3}}",
        "variants={a: {fleet.phones.uplink: fast}}",
        "variants={a: {selection: unifrom}}",
        "sweep={rounds.clients: [5, many]}",
        "sweep={zip: {fleet.phones.uplink: [fast]}}",
    ],
)
def test_refuses_what_the_reader_refuses(change: str) -> None:
    assert not fits(Document.of(MINIMAL).set(change).data)


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
        "seeds=3",
        "rounds.policy.deadline={stragglers: 0.3}",
        "rounds.clients=10%",
        "rounds.stop={rounds: 9, target: rmse 0.5}",
        "evaluation.targets=[60%, 0.7, rmse 0.5, loss 1e-3]",
        "rounds.stop.time=1 d 12 h",
        "fleet.latency=1 s 500 ms",
        "variants={a: {rounds.policy: {deadline: none}, training: {epochs: 3}, model: mlp}}",
        "variants={a: {rounds.policy.deadline: none, 'fleet[0].uplink': 1 Mbit/s}}",
        "variants={a: {rounds.stop.time: 3 h, training.epochs: null, fleet: {count: 3}}}",
        "sweep={selection: [uniform, afl], zip: {'fleet[0].uplink': [1 Mbit/s]}, random: 3}",
    ],
)
def test_accepts_shorter_ways(change: str) -> None:
    assert fits(Document.of(MINIMAL).set(change).data)


def test_names_every_component() -> None:
    for kind in set(KINDS) - {"executors"}:
        mapping = SCHEMA["$defs"][kind]["anyOf"][-1]
        named = [one.get("const") for one in mapping["properties"]["name"]["anyOf"]]
        assert [name for name in named if name is not None] == registry(kind).names()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "executors"])
def test_a_name_alone_is_enough_where_the_reader_takes_it(kind: str) -> None:
    """That dp_fedavg needs its `clip` was told by the reader alone, not by an editor."""
    schema = {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}
    names = registry(kind).names()
    assert [n for n in names if accepts(schema, n)] == [n for n in names if can_be_read(kind, n)]


def can_be_read(kind: str, name: str) -> bool:
    try:
        registry(kind).parse(name)
    except (InputError, ValidationError, PydanticCustomError):
        return False
    return True


def test_names_every_class_of_devices() -> None:
    choices = SCHEMA["$defs"]["Group"]["properties"]["device"]["anyOf"]
    assert [choice["const"] for choice in choices if "const" in choice] == list(catalogue())


def test_variants_complete_paths_into_the_scenario() -> None:
    paths = SCHEMA["$defs"]["variant"]["properties"]
    assert {"selection", "training.workload", "rounds.stop.time", "data.partition"} <= set(paths)
    assert {"$ref": "#/$defs/workloads"}.items() <= paths["training.workload"]["anyOf"][0].items()


def test_every_default_is_one_that_it_accepts() -> None:
    schema = scenario_schema()
    wrong = [
        (path, own["default"])
        for path, own in with_defaults(schema, "")
        if not accepts({**own, "$defs": schema["$defs"]}, own["default"])
    ]
    assert not wrong


def with_defaults(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema below `schema` that says a default, and where."""
    if isinstance(schema, dict):
        if "default" in schema and not path.endswith("/properties"):
            yield path, schema
        for key, value in schema.items():
            yield from with_defaults(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for place, value in enumerate(schema):
            yield from with_defaults(value, f"{path}/{place}")


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))
