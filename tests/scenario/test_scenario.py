import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simfl.components.optimizers.sgd import Sgd
from simfl.errors import ScenarioError
from simfl.scenario import Document, Scenario
from simfl.scenario.checks import refuse
from simfl.scenario.parts.experiment import parse_seeds
from simfl.scenario.variants import expand
from tests.scenario.written import FULL, MINIMAL
from tests.tiny import TINY


def test_six_lines_are_enough() -> None:
    scenario = Scenario.from_dict(MINIMAL)
    (group,) = scenario.fleet
    assert (scenario.name, scenario.seed, scenario.devices) == ("scenario", 0, 30)
    assert scenario.data.partition.name == "natural"
    assert scenario.rounds.clients == 10
    assert scenario.rounds.stop.rounds == 100
    assert scenario.rounds.policy.name == "synchronous"
    assert scenario.selection.name == "uniform"
    assert scenario.aggregation.name == "fedavg"
    assert scenario.network.name == "shared"
    assert scenario.training.workload.name == "full"
    assert (scenario.training.epochs, scenario.training.steps) == (1, None)
    one, nobody = np.array([0.5]), np.array([0])
    assert group.compute.values(one, nobody)[0] == 100
    assert group.compute.unit == "samples/s"
    assert np.isinf(group.uplink.values(one, nobody)[0])
    assert group.latency.values(one, nobody)[0] == 0


def test_data_without_clients_of_their_own_are_dealt_evenly() -> None:
    scenario = Scenario.from_dict({**MINIMAL, "data": {"dataset": "fashion_mnist"}})
    assert scenario.data.partition.name == "iid"


@pytest.mark.parametrize(
    ("clients", "devices", "count"),
    [(None, 4, 4), (None, 99, 10), ("10%", 30, 3), (0.5, 9, 4), ("1%", 30, 1), (7, 7, 7)],
)
def test_clients_per_round(clients: object, devices: int, count: int) -> None:
    data = {**MINIMAL, "fleet": {"count": devices}}
    if clients is not None:
        data["rounds"] = {"clients": clients}
    assert Scenario.from_dict(data).rounds.clients == count


def test_everything_is_as_written() -> None:
    scenario = Document.parse(FULL)
    found = Scenario.from_dict(scenario.data)
    assert found.rounds.clients == 11
    assert found.rounds.stop.model_dump() == {
        "rounds": 10, "time": 43200.0, "accuracy": 0.9, "target": None, "bytes": 1e10,
        "energy": 7.2e6,
        "epsilon": None,
    }  # fmt: skip
    assert found.evaluation.targets == (0.7, 0.8)
    assert found.seeds == (0, 1, 2)
    assert found.fleet[0].power is not None
    assert found.fleet[0].power.idle == 0.05
    local = found.training.local()
    sgd = Sgd(lr=1e-3, momentum=0.9, weight_decay=1e-4, clip=5)
    assert (local.batch_size, local.optimizer, local.proximal) == (64, sgd, 0.1)
    assert [local.rate(round_) for round_ in (149, 151, 301)] == [1e-3, 5e-4, 2.5e-4]


@pytest.mark.parametrize("data", [MINIMAL, Document.parse(FULL).data], ids=["minimal", "full"])
def test_written_out_and_read_again_it_is_the_same(data: dict[str, Any]) -> None:
    scenario = Scenario.from_dict(data)
    again = Scenario.from_dict(Document.parse(scenario.to_yaml()).data)
    assert again == scenario
    assert again.to_yaml() == scenario.to_yaml()
    assert again != Scenario.from_dict({**data, "seed": 99})


quantities = st.floats(1e-9, 1e12)


@settings(max_examples=50)
@given(
    rate=quantities,
    latency=quantities,
    lr=st.floats(1e-12, 1e3),
    share=st.floats(0, 0.999),
    name=st.text("abcXYZ019 ._+=()-", min_size=1, max_size=98).map(lambda text: f"a{text}Z"),
    seed=st.integers(0, 2**63 - 1),
    description=st.text(max_size=30),
)
def test_any_numbers_and_words_survive_yaml(
    rate: float,
    latency: float,
    lr: float,
    share: float,
    name: str,
    seed: int,
    description: str,
) -> None:
    data = {
        **MINIMAL,
        "name": name[:100],
        "seed": seed,
        "description": description,
        "data": {"dataset": "synthetic", "local_validation": share},
        "fleet": {"count": 3, "compute": f"{rate!r} samples/s", "latency": f"{latency!r} s"},
        "training": {"optimizer": {"lr": lr}},
    }
    scenario = Scenario.from_dict(data)
    assert Scenario.from_dict(Document.parse(scenario.to_yaml()).data) == scenario


def test_every_default_is_written_out() -> None:
    written = Scenario.from_dict(MINIMAL).to_dict()
    assert written["fleet"] == [
        {
            "name": "devices",
            "count": 30,
            "compute": "100 samples/s",
            "downlink": "unlimited",
            "uplink": "unlimited",
            "latency": "0 s",
            "availability": {"name": "always"},
            "on_offline": "abort",
            "failures": "0%",
        }
    ]
    assert written["training"]["lr_schedule"] == {"name": "constant"}
    assert written["training"]["loss"] == {"name": "cross_entropy", "label_smoothing": 0.0}
    assert written["rounds"]["clients"] == 10
    assert "variants" not in written


def test_shorter_ways_to_write_things() -> None:
    short = {
        **MINIMAL,
        "fleet": [{"count": 2}, {"count": 3}],
        "training": {"optimizer": "sgd"},
        "seeds": 3,
    }
    scenario = Scenario.from_dict(short)
    assert [group.name for group in scenario.fleet] == ["group-0", "group-1"]
    assert scenario.seeds == (3,)
    constant = {"lr_schedule": "constant"}
    assert Scenario.from_dict({**short, "training": constant}) == scenario


def test_it_can_not_be_changed() -> None:
    scenario = Scenario.from_dict(MINIMAL)
    with pytest.raises(ValidationError, match="frozen"):
        scenario.seed = 1  # type: ignore[misc]


def test_named_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "my first try.yaml"
    file.write_text("data: {dataset: synthetic}\nmodel: logistic_regression\nfleet: {count: 5}\n")
    scenario = Scenario.load(file, ["seed=4"])
    assert scenario.name == "my-first-try"
    assert scenario.seed == 4
    assert scenario.folder is None, "no file is named, so it is the same wherever it stands"


def test_files_are_looked_up_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "wifi.csv").write_text("speed\n5\n")
    text = (
        "data: {dataset: synthetic}\nmodel: logistic_regression\n"
        "fleet: {count: 5, uplink: {distribution: empirical, file: wifi.csv, column: speed,"
        " unit: Mbit/s}}\n"
    )
    (tmp_path / "a.yaml").write_text(text)
    scenario = Scenario.load(tmp_path / "a.yaml")
    assert scenario.root == tmp_path
    assert scenario.fleet[0].uplink.values(np.array([0.5]), np.array([1])).tolist() == [5e6]
    elsewhere = tmp_path / "runs"
    elsewhere.mkdir()
    (elsewhere / "a.yaml").write_text(scenario.to_yaml())
    assert Scenario.load(elsewhere / "a.yaml") == scenario
    (elsewhere / "b.yaml").write_text(f"folder: ..\n{text}")
    assert Scenario.load(elsewhere / "b.yaml").root.resolve() == tmp_path.resolve()
    (elsewhere / "c.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=r"c\.yaml:3:27: fleet\.uplink: can't read") as told:
        Scenario.load(elsewhere / "c.yaml")
    assert "there is no folder" not in str(told.value)


def test_a_folder_is_refused_whose_name_no_run_could_keep(tmp_path: Path) -> None:
    """The run's own scenario.yaml was then called damaged, and its folder was of no use."""
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    (odd / "wifi.csv").write_text("speed\n5\n")
    text = (
        "data: {dataset: synthetic}\nmodel: logistic_regression\n"
        "fleet: {count: 5, uplink: {distribution: empirical, file: wifi.csv, column: speed,"
        " unit: Mbit/s}}\n"
    )
    (odd / "a.yaml").write_text(text)
    with pytest.raises(ScenarioError, match="the name of the scenario's folder is not UTF-8"):
        Scenario.load(odd / "a.yaml")


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (
            "uplink: {distribution: empirical, file: wifi.csv, column: speed, unit: Mbit/s}",
            "uplink",
        ),
        ("availability: {name: trace, file: on.csv}", "availability"),  # looked for later
    ],
)
def test_a_folder_that_is_not_here_is_told_of_first(file: str, named: str, tmp_path: Path) -> None:
    """A run from another machine named files "not there", and not that `folder` finds them."""
    text = (
        f"data: {{dataset: synthetic}}\nmodel: logistic_regression\nfleet: {{count: 5, {file}}}\n"
    )
    (tmp_path / "a.yaml").write_text(f"folder: /of/the/author\n{text}")
    with pytest.raises(ScenarioError) as told:
        refuse({"default": Scenario.load(tmp_path / "a.yaml")})
    first, second = str(told.value).splitlines()
    assert first.endswith(
        "a.yaml:1:9: folder: there is no folder /of/the/author, where the files should be that the "
        "scenario names; name here where they are"
    )
    assert f"{named}: can't read" in second


@pytest.mark.parametrize(
    ("correlate", "words"),
    [
        ({"compute": 0.5}, "such as compute~samples"),
        ({"compute~compute": 0.5}, "such as compute~samples"),
        ({"compute~sample": 0.5}, "did you mean 'samples'?"),
        ({"compute~samples": 1.5}, "at most 1"),
    ],
)
def test_what_does_not_correlate(correlate: dict[str, float], words: str) -> None:
    with pytest.raises(ScenarioError) as told:
        Scenario.from_dict({**MINIMAL, "correlate": correlate})
    assert words in str(told.value)


def test_a_mapping_of_nothing_is_told_as_empty() -> None:
    group = {"count": 4, "trace": {"file": "x.csv", "columns": {}}}
    with pytest.raises(ScenarioError, match="at least 1 of them, got an empty mapping"):
        Scenario.from_dict({**MINIMAL, "fleet": group})


@pytest.mark.parametrize(
    ("text", "seeds"), [("0-2", [0, 1, 2]), ("5", [5]), ("1,3", [1, 3]), ("0-1, 7", [0, 1, 7])]
)
def test_seeds_as_text(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "x", "2-1", "-1", "0-", "1.5", "0-999999999999"])
def test_text_that_is_no_seeds(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_seeds(text)


@pytest.mark.parametrize("number", ["power", "memory"])
def test_what_a_class_of_devices_is_said_not_to_have_is_written_down(number: str) -> None:
    """Else whoever reads it would take the class's own."""
    group = {"count": 4, "device": "phone-low", number: None}
    scenario = Scenario.from_dict({**TINY, "fleet": group})
    again = Scenario.from_dict(scenario.to_dict())
    assert again == scenario
    assert getattr(again.fleet[0], number) is None


def test_a_phase_without_a_power_of_its_own_takes_that_of_an_idle_device() -> None:
    """It was 0 W, less than doing nothing."""
    power = {"idle": "2 W", "compute": "3 W"}
    scenario = Scenario.from_dict({**TINY, "fleet": {**TINY["fleet"], "power": power}})
    [group] = scenario.fleet
    assert group.power is not None
    phases = [group.power.idle, group.power.download, group.power.compute, group.power.upload]
    assert phases == [2, 2, 3, 2]
    assert Scenario.from_dict(scenario.to_dict()) == scenario


def test_numbers_of_other_libraries_and_what_comes_one_by_one_are_plain_data() -> None:
    """They ended in a TypeError of `copy`, or in errors of pandas or pydantic."""
    values = pd.Series(["20 samples/s", "30 samples/s"])
    fleet = {**TINY["fleet"], "compute": {"distribution": "choice", "values": values}}
    changes = {
        "fleet": fleet,
        "evaluation": {"targets": (share / 10 for share in (3, 5))},
        "variants": {"few": {"rounds.clients": torch.tensor(2)}},
        "sweep": {"selection": {"uniform": 1, "oort": 2}.keys(), "training.epochs": range(1, 3)},
    }
    runs = expand(Document.of({**TINY, **changes}))
    assert [run.factors for run in runs] == [
        {"variant": "few", "selection": name, "training.epochs": epochs}
        for name in ("uniform", "oort")
        for epochs in (1, 2)
    ]
    scenario = runs[0].scenario
    assert scenario.rounds.clients == 2
    assert scenario.evaluation.targets == (0.3, 0.5)
    assert "values: [20 samples/s, 30 samples/s]" in scenario.to_yaml()


def test_a_table_is_no_fleet() -> None:
    with pytest.raises(ScenarioError, match="fleet: expected a mapping"):
        Scenario.from_dict({**TINY, "fleet": pd.DataFrame({"count": [3]})})


def test_numbers_of_numpy_are_numbers() -> None:
    """`np.int64(2)` was no whole number, and a sweep over `np.arange` ended in pydantic's error."""
    made = Scenario.from_dict(
        {
            **TINY,
            "seed": np.int64(7),
            "rounds": {"clients": np.int32(3), "stop": {"rounds": np.int64(2)}},
            "sweep": {
                "training.epochs": np.arange(1, 3),
                "training.optimizer.lr": [np.float32(0.5), 0.25],
            },
        }
    )
    assert made.seed == 7
    assert made.to_dict()["rounds"]["clients"] == 3
    assert [run.factors for run in expand(made)] == [
        {"training.epochs": epochs, "training.optimizer.lr": lr}
        for epochs in (1, 2)
        for lr in (0.5, 0.25)
    ]
    table = {"name": "csv", "file": Path("nowhere.csv"), "label": "y"}
    with pytest.raises(ScenarioError, match=r"can't read nowhere\.csv"):  # and not: expected text
        Scenario.from_dict({**TINY, "data": {"dataset": table}})
