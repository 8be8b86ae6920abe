"""`simfl tune`: its options, what it prints, and what `validate` says of its section."""

import csv
import io
import json
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.runs.tuning.trials import PAGE, TRIALS
from tests.runs.tuning.tuned import CLOCK, LEARNS


def test_a_path_that_leads_nowhere_is_told_by_validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.yaml"
    wrong = {**CLOCK, "parameters": {"rounds.clents": {"min": 1, "max": 5}}}
    for spec, code in ((CLOCK, 0), (wrong, 2)):
        path.write_text(json.dumps(LEARNS | {"tune": spec}, indent=1))
        assert main(["validate", str(path)]) == code
    line = path.read_text().splitlines().index('   "rounds.clents": {') + 1
    assert f"tiny.yaml:{line}:" in capsys.readouterr().err


def test_a_path_that_leads_nowhere_is_told_before_anything_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, out = tmp_path / "tiny.yaml", tmp_path / "out"
    scenario.write_text(json.dumps(LEARNS | {"variants": {"a": {}}}))
    asked = ["tune", str(scenario), "--objective", "time", "--out", str(out)]
    wrong = "rounds.clents=[1, 5]"
    assert main([*asked, "--variant", "a", "-p", wrong]) == 2
    told = "--parameter rounds.clents=[1, 5]: rounds.clents: unknown key 'clents'"
    assert f"{told}; did you mean 'clients'?" in capsys.readouterr().err
    assert main([*asked, "--variant", "b", "-p", wrong]) == 2
    assert "no variant 'b'" in capsys.readouterr().err
    undone = ["-p", "rounds.policy.deadline=[9 s]", "-p", "rounds.policy=[synchronous]"]
    assert main([*asked, "--variant", "a", *undone]) == 2
    assert "rounds.policy undoes rounds.policy.deadline" in capsys.readouterr().err
    twice = ["-p", "fleet[0].count=[9]", "-p", "fleet.count=[8]"]
    assert main([*asked, "--variant", "a", *twice]) == 2
    assert "undoes fleet[0].count, which is changed before it" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_options_say_what_to_look_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps(LEARNS))
    command = [
        "tune", str(path), "-p", "rounds.clients={min: 2, max: 8}", "--objective", "time",
        "--under", "never_heard=100%", "--trials", "3", "--time-only", "--log", "none", "--out",
        str(tmp_path / "out"),
    ]  # fmt: skip
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "Least time: " in out
    assert "--set 'rounds.clients=" in out
    assert err.count("\n") == 3
    assert {log.read_text() for log in (tmp_path / "out").rglob("events.jsonl")} == {""}
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / TRIALS).read_text())))
    assert [row["trial"] for row in rows] == [trial["name"] for trial in told["trials"]]
    assert float(rows[0]["time"]) == told["trials"][0]["value"]
    html = (tmp_path / "out" / PAGE).read_text()
    assert all(f">{row['trial']}<" in html for row in rows)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "no `tune` section"),
        (["-p", "rounds.clients"], "--parameter: expected NAME=VALUE"),
        (["-p", "rounds.clients=[1, 2"], "--parameter rounds.clients=[1, 2"),
        (
            ["-p", "rounds.clients=[1, 2]", "-p", "rounds.clients=[3]"],
            "--parameter rounds.clients=[3]: rounds.clients is given twice",
        ),
        (
            ["-p", "rounds.clients=[1, 2]", "--objective", "time", "--under", "bytes="],
            "--under bytes=: the value is empty; is a variable of the shell not set?\n",
        ),
        (  # that null takes the key away is no way out: one must be tuned
            ["-p", "rounds.clients=", "--objective", "time"],
            "rounds.clients=: the value is empty; is a variable of the shell not set?\n",
        ),
        (["-p", "rounds.clients=[1, 2]"], "tune: missing key 'objective'"),
        (["--seeds", "x"], "--seeds"),
    ],
)
def test_what_it_can_not_do_is_told(
    tmp_path: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(json.dumps(LEARNS))
    assert main(["tune", str(path), *options, "--out", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err
