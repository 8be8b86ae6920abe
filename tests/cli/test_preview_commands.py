"""`simfl fleet` and `simfl partition`."""

import json
import re
from pathlib import Path

import pytest

from simfl.cli import main

SCENARIO = """\
name: previewed
data: {dataset: {name: synthetic, alpha: 1, beta: 1}}
model: logistic_regression
fleet:
  - {name: phones, count: 20, compute: 50 samples/s, uplink: 2 Mbit/s}
  - {name: boards, count: 10, compute: 10 samples/s}
rounds: {clients: 5, policy: {name: synchronous, deadline: {stragglers: 30%}}}
variants:
  slow: {"fleet[0].compute": 5 samples/s}
  fast: {"fleet[0].compute": 500 samples/s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def test_the_fleets_text_is_as_wide_as_the_terminal(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["fleet", str(file)]) == 0
        out = capsys.readouterr().out
        told, _, assumed = out.partition("  assumed")
        assert max(map(len, out.splitlines())) <= columns
        assert "phones" in told.splitlines()[0]
        assert "\n compute (samples/s)" in told
        assert assumed


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_no_cell_of_the_fleets_table_is_broken(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    spread = "{distribution: lognormal, median: 50 samples/s, sigma: 0.5}"
    names = ["phones", "old-tablets", "boards", "watches", "gateways"]
    groups = "".join(f"  - {{name: {name}, count: 20, compute: {spread}}}\n" for name in names)
    data = "data: {dataset: synthetic_images, partition: iid}\nmodel: logistic_regression\n"
    file.write_text(f"{data}fleet:\n{groups}")
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["fleet", str(file)]) == 0
    table, _, told = capsys.readouterr().out.partition("Median")
    heads = [line for line in table.splitlines() if {*line.split()} & {*names, "all"}]
    assert " ".join(heads).split() == [*names, "all"]
    speeds = re.findall(r"^ compute.*\n.*", table, re.MULTILINE)
    range_ = r"\(\d+\.?\d* to \d+\.?\d*\)" if columns == 200 else r"\d+\.?\d*–\d+\.?\d*"
    assert len(re.findall(range_, " ".join(speeds))) == 6
    assert ("below it" in told) == (columns < 200)


def test_fleet_as_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", str(file)]) == 0
    out = capsys.readouterr().out
    lines = {line.split("  ")[0].strip(): line.split() for line in out.splitlines()}
    assert lines["devices"] == ["devices", "20", "10", "30"]
    assert lines["compute (samples/s)"][2:4] == ["50", "10"]
    assert lines["uplink (Mbit/s)"][2:4] == ["2", "unlimited"]
    assert lines["online"] == ["online", "100.0%", "100.0%", "100.0%"]
    assert "70.0% of the devices can finish" in out
    assert "A synchronous round with 5 clients drawn uniformly takes" in out


@pytest.mark.parametrize(
    ("speed", "told"), [("1e12 samples/s", r"\(ns\) +0.153"), ("9000 samples/s", r"\(ms\) +17")]
)
def test_short_rounds_have_a_unit_that_suits_them(
    file: Path, capsys: pytest.CaptureFixture[str], speed: str, told: str
) -> None:
    changes = ["--set", f"fleet=[{{count: 30, compute: {speed}}}]", "--set", "variants=null"]
    assert main(["fleet", str(file), *changes]) == 0
    assert re.search(f"^ full round {told}", capsys.readouterr().out, re.MULTILINE)


def test_fleet_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [group["name"] for group in found["groups"]] == ["phones", "boards", "all"]
    assert found["groups"][0]["numbers"]["uplink"] == {"p5": 2e6, "p50": 2e6, "p95": 2e6}
    assert found["groups"][1]["numbers"]["uplink"]["p50"] is None
    assert found["expected_round_s"] <= found["deadline_s"]


def test_variants_and_changes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def speed(*words: str) -> float:
        assert main(["fleet", str(file), "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)
        return float(found["groups"][0]["numbers"]["compute"]["p50"])

    assert speed() == 50
    assert speed("--variant", "slow") == 5
    assert speed("--set", "fleet[0].compute=7 samples/s") == 7
    assert main(["fleet", str(file), "--variant", "slwo"]) == 2
    assert "no variant 'slwo'; did you mean 'slow'?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fleet", "partition"])
def test_what_is_none_of_the_variants_is_told_as_that(
    command: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deadline, or how many clients a round has, was shown that no run had."""
    sweep = ["--set", "variants=null", "--set", "sweep={rounds.clients: [3, 4]}"]
    for words, told in ([], True), (sweep, True), (["--variant", "slow"], False):
        assert main([command, str(file), *words]) == 0
        assert ("Shown without variants" in capsys.readouterr().out) == told
    assert main([command, str(file), "--set", "variants=null"]) == 0
    assert "without variants" not in capsys.readouterr().out


def test_seeds_draw_other_fleets(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uniform = "{distribution: uniform, min: 1 samples/s, max: 9 samples/s}"
    file.write_text(SCENARIO.replace("50 samples/s", uniform))

    def drawn(*more: str) -> str:
        assert main(["fleet", str(file), "--json", *more]) == 0
        return capsys.readouterr().out

    assert drawn("--seed", "1") == drawn("--seed", "1") != drawn("--seed", "2")


@pytest.mark.parametrize("command", ["fleet", "partition", "validate"])
def test_a_seed_that_is_set_beside_others_is_refused(
    command: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of the others was shown, and nothing said."""
    idle = ["--set", "seed=1", "--set", "seeds=0-1"]
    variant = [] if command == "validate" else ["--variant", "slow"]
    for words in (idle, idle + variant):
        assert main([command, str(file), *words]) == 2
        assert "--set seed=1: the scenario has `seeds`" in capsys.readouterr().err
    if variant:
        assert main([command, str(file), *idle, "--seed", "1"]) == 0
        assert main([command, str(file), *variant, "--set", "seed=null"]) == 0


def test_fleet_and_partition_draw_pictures(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("fleet", "partition"):
        out = tmp_path / f"{command}.svg"
        assert main([command, str(file), "--out", str(out)]) == 0
        assert f"Picture: {out}" in capsys.readouterr().out
        assert "<svg" in out.read_text()


def test_partition_as_text(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of it was longer than a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["partition", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("30 clients, ")
    assert "skew: L1 distance" in out
    assert max(map(len, out.splitlines())) <= 60


def test_partition_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partition", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["label_counts"]) == len(found["skew"]) == 30
    assert all(len(row) == 10 for row in found["label_counts"])
    assert all(0 <= far < 2 for far in found["skew"])
    assert "names" not in found


def test_partition_names_clients_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which hospital is whose device was known once a run had been evaluated."""
    rows = [f"{n}.5,{n % 2},{who},{n % 3 // 2}" for who in ("Nord", "Able") for n in range(6)]
    (tmp_path / "own.csv").write_text("\n".join(["x,ill,who,test", *rows]))
    data = "{dataset: {name: csv, file: own.csv, label: ill, client: who, test: test}}"
    path = tmp_path / "own.yaml"
    path.write_text(
        f"data: {data}\nmodel: logistic_regression\nfleet: {{count: 2, compute: 1 samples/s}}\n"
        "rounds: {clients: 1}\n"
    )
    assert main(["partition", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["Able", "Nord"]


def test_partition_of_data_made_on_demand(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "data.dataset=generated", "--set", "data.partition=natural"]
    assert main(["partition", str(file), *words]) == 2
    assert "nobody has counted their labels" in capsys.readouterr().err


def test_partition_of_numbers(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["data.dataset=synthetic_regression", "training.loss=mean_squared_error"]
    changes = [word for change in words for word in ("--set", change)]
    assert main(["partition", str(file), *changes]) == 2
    assert "has numbers to learn, no classes to count" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fleet", "partition"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "picture.txt"], "must end in .png, .svg or .pdf"),
        (["--out", "nowhere/picture.png"], "the folder nowhere does not exist"),
        (["--set", "rounds.clients=99"], "99 clients per round"),
        (["--set", "data.dataset=mnist", "--data-dir", "nowhere"], "nowhere does not exist"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    command: str,
    words: list[str],
    message: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(file.parent)
    assert main([command, str(file), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert [path.name for path in file.parent.iterdir()] == ["scenario.yaml"]
