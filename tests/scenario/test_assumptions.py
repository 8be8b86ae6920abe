"""What a scenario does not say is said."""

from pathlib import Path
from typing import Any

import pytest

from simfl import Scenario
from simfl.cli import main
from simfl.errors import ScenarioError
from simfl.scenario.assumptions import assumptions

BARE: dict[str, Any] = {
    "data": {"dataset": "synthetic_images"},
    "model": "mlp",
    "fleet": {"count": 30},
}


def told(**changes: Any) -> dict[str, str]:
    found = assumptions(Scenario.from_dict(BARE | changes))
    return dict(str(assumption).split(": ", 1) for assumption in found)


def test_a_bare_scenario_assumes_everything() -> None:
    assert told() == {
        "seed": "0, and one run",
        "data.partition": "iid",
        "training.epochs": "1",
        "training.batch_size": "32",
        "training.optimizer.lr": "0.1",
        "rounds.clients": "10",
        "rounds.stop": "100 rounds",
        "fleet[0].compute": "100 samples/s",
        "fleet[0].downlink": "unlimited",
        "fleet[0].uplink": "unlimited",
        "fleet[0].latency": "0 s",
        "fleet[0].availability": "always online",
    }


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"seed": 0}, {"seed"}),
        ({"seeds": [0, 1]}, {"seed"}),
        ({"training": {"steps": 3}}, {"training.epochs"}),
        ({"training": {"optimizer": {"lr": 0.1}}}, {"training.optimizer.lr"}),
        ({"rounds": {"clients": 10}}, {"rounds.clients"}),
        ({"rounds": {"stop": {"rounds": 100}}}, {"rounds.stop"}),
        ({"data": {"dataset": "synthetic_images", "partition": "iid"}}, {"data.partition"}),
        ({"fleet": {"count": 30, "compute": "100 samples/s"}}, {"fleet[0].compute"}),
        (
            {"fleet": {"count": 30, "device": "raspberry-pi-4"}},
            {"fleet[0].compute", "fleet[0].downlink", "fleet[0].uplink", "fleet[0].latency"},
        ),
    ],
)
def test_what_is_given_is_not_assumed(changes: dict[str, Any], gone: set[str]) -> None:
    assert told().keys() - told(**changes).keys() <= gone
    assert told().keys() - told(**changes).keys()


def test_a_single_number_of_seeds_is_one_seed() -> None:
    assert told(seeds=3)["seeds"] == "one run, with seed 3 (several: 0-2)"
    assert "seeds" not in told(seeds=[3])


def test_a_scenario_written_out_assumes_nothing_of_its_devices() -> None:
    full = Scenario.from_dict(Scenario.from_dict(BARE).to_dict())
    assert not assumptions(full)


@pytest.mark.parametrize("command", ["validate", "fleet"])
def test_commands_say_it(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(Scenario.from_dict(BARE).to_yaml())
    assert main([command, str(file)]) == 0
    assert "assumed" not in capsys.readouterr().out
    file.write_text("data: {dataset: synthetic_images}\nmodel: mlp\nfleet: {count: 30}\n")
    assert main([command, str(file)]) == 0
    out = capsys.readouterr().out
    assert "assumed, not given:" in out
    assert "fleet[0].compute: 100 samples/s" in out


def test_groups_that_assume_the_same_are_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five groups were twenty lines."""
    groups = "".join(f"  - {{name: g{n}, count: 4, latency: {n} ms}}\n" for n in range(4))
    (tmp_path / "s.yaml").write_text(
        "data: {dataset: synthetic_images}\nmodel: mlp\nfleet:\n"
        f"{groups}  - {{name: g4, count: 4, compute: 5 samples/s, latency: 0 s}}\n"
        "  - {name: g5, count: 4}\n"
    )
    assert main(["validate", str(tmp_path / "s.yaml")]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "fleet[" in line]
    assert lines == [
        "fleet[0-3,5].compute: 100 samples/s",
        "fleet[0-5].downlink: unlimited",
        "fleet[0-5].uplink: unlimited",
        "fleet[0-5].availability: always online",
        "fleet[5].latency: 0 s",
    ]


@pytest.mark.parametrize("command", ["validate", "fleet"])
def test_what_every_variant_gives_is_not_assumed(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`training.optimizer.lr: 0.1` was told, though no run had it by default."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {dataset: synthetic_images}\nmodel: mlp\nfleet: {count: 30}\nvariants:\n"
        "  a: {training.optimizer.lr: 0.3, training.epochs: 2}\n"
        "  b: {training.optimizer.lr: 0.1, rounds.policy: fedasync}\n"
    )
    assert main([command, str(file)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert not [line for line in lines if line.startswith("training.optimizer.lr")]
    assert "training.epochs: 1 (b)" in lines
    assert "rounds.clients: 10" in lines
    assert lines[-1].endswith("goes with fedasync (b)")


def test_code_of_variants_that_are_not_shown_is_not_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine_unasked.py").write_text("open('imported', 'w').close()\n")
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {dataset: synthetic_images}\nmodel: mlp\nfleet: {count: 30}\n"
        "variants: {own: {model: 'mine_unasked.py:Net'}}\n"
    )
    assert main(["fleet", str(file)]) == 0
    assert "training.epochs: 1" in capsys.readouterr().out
    assert not (tmp_path / "imported").exists()


def test_a_battery_that_nothing_drains_is_told() -> None:
    fleet: dict[str, Any] = {"count": 3, "battery": "15 Wh"}
    rounds = {"rounds": {"clients": 2}}
    key = "fleet[0].power"
    assert told(fleet=fleet, **rounds)[key] == "0 W, so its batteries never drain"
    assert key not in told(fleet={**fleet, "power": {"compute": "3 W"}}, **rounds)
    assert key not in told(fleet={"count": 3}, **rounds)


def test_devices_without_a_count_are_the_data_sets_clients(tmp_path: Path) -> None:
    """It had to be counted by hand, though the data say it, and anything else was an error."""
    rows = "".join(f"{n},{n % 2},{'abc'[n % 3]},{n // 6 % 2}\n" for n in range(60))
    (tmp_path / "visits.csv").write_text("x,ill,hospital,test\n" + rows)
    own = {"name": "csv", "file": str(tmp_path / "visits.csv"), "label": "ill"}
    dataset = {**own, "client": "hospital", "test": "test"}
    data = {"data": {"dataset": dataset}, "fleet": {"latency": "1 s"}}
    assert told(**data)["fleet[0].count"] == "3, one for each of the data set's clients"
    scenario = Scenario.from_dict(BARE | data)
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert scenario.rounds.clients == 3
    assert "fleet[0].count" not in told(**(data | {"fleet": [{"count": 2}]}))
    for unknown in (
        {"data": {"dataset": dataset, "partition": "iid"}},
        {"data": {"dataset": {**own, "client": "hospital"}}},  # who is tested is drawn by each seed
        {"fleet": [{"name": "a", "count": 1}, {"name": "b"}]},
    ):
        with pytest.raises(ScenarioError, match="missing key 'count': number of devices; omitted:"):
            Scenario.from_dict(BARE | data | unknown)


def test_clients_that_are_left_out_are_told() -> None:
    """Of 40 hospitals 30 took part, and nothing said so."""
    data = {"dataset": {"name": "synthetic", "clients": 40}}
    assert told(data=data)["data.partition"] == "natural, 30 of the data set's own 40 clients"
    assert told(data=data, fleet={"count": 40})["data.partition"] == "natural"
    assert "data.partition" not in told(data={**data, "partition": "natural"})


def test_inputs_of_a_table_are_told_not_to_be_scaled(tmp_path: Path) -> None:
    """Hundreds of hPa beside a share of 1 learned nothing, and nobody knew why."""
    rows = "".join(f"{1000 + row},{row % 2},{row % 2}\n" for row in range(20))
    (tmp_path / "air.csv").write_text("pressure,open,label\n" + rows)

    def told_of(options: str) -> set[str]:
        (tmp_path / "air.yaml").write_text(
            f"data: {{dataset: {{name: csv, file: air.csv{options}}}}}\n"
            "model: mlp\nfleet: {count: 3}\n"
        )
        return {str(one) for one in assumptions(Scenario.load(tmp_path / "air.yaml"))}

    line = "data.dataset.normalise: none, inputs as they are read, from 0 to 1019"
    assert line in told_of("")
    for options in (
        ", normalise: none", ", normalise: standard", ", inputs_are: tokens, features: [open]",
    ):  # fmt: skip
        assert not any("normalise" in one for one in told_of(options))
