"""`simfl explain`: what it prints, and what can't be explained."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simfl.cli import main
from simfl.errors import InputError
from simfl.report import write_report
from simfl.report.explanation import as_text
from simfl.report.timeline.timeline import trace
from simfl.runs.explain import explain
from simfl.runs.folder.folder import PROVENANCE
from simfl.runs.results.result import RunResult
from simfl.runs.what_if.changes import Change
from simfl.runs.what_if.counterfactuals import Counterfactual, WhatIf
from tests.made_runs import made_run
from tests.runs.explained import by_deadline, made


def test_it_says_phases_whom_it_waited_for_and_what_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = made(tmp_path)
    assert main(["explain", str(result.folder)]) == 0
    text = capsys.readouterr().out
    assert f"in all {result.end_s:.3f} s" in " ".join(text.split())
    assert "Most often waited for: device" in text
    assert max(len(line) for line in text.splitlines() if "--set" not in line) <= 100
    assert "compute twice as fast: --set 'fleet[0].compute=" in text
    assert main(["explain", str(result.folder), "--round", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    ends = np.rint(result.of_rounds("end_s") * 1e9)
    assert sum(told["phases_ns"].values()) == told["elapsed_ns"] == ends[1] - ends[0]
    assert told["shortened_by"] == []
    assert [part["outcome"] for part in told["participations"]] == ["arrived"] * 4
    assert told["outcomes"] == {"arrived": 4}


def test_it_says_that_a_run_goes_on(tmp_path: Path) -> None:
    run = made_run(tmp_path, "v", 0, [0.1, 0.2], finished=False)
    told = " ".join(as_text(explain(run, what_if=False)).split())  # however wide the terminal
    assert "2 rounds in 20.0 s of virtual time so far, for it has not finished Along" in told


def test_it_says_that_a_run_failed_and_of_what(tmp_path: Path) -> None:
    run = made_run(tmp_path, "v", 0, [0.1, 0.2], finished=False)
    path, failed = run.folder / PROVENANCE, {"round": 3, "error": "ValueError: no"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "failed": failed}))
    told = " ".join(as_text(explain(RunResult(run.folder), what_if=False)).split())
    assert "so far, for it failed in round 3: ValueError: no Along" in told


def test_its_tables_fit_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = by_deadline(tmp_path)
    for columns in (66, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["explain", str(result.folder), "--no-what-if"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= columns
        [at] = [n for n, line in enumerate(lines) if line.startswith("  wait")]
        folded = lines[at + 1].startswith(10 * " ")
        assert folded == (columns == 66)


def test_the_head_of_a_table_stays_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cut off in` ended on the left of the next line."""
    result = by_deadline(tmp_path)
    monkeypatch.setenv("COLUMNS", "55")
    assert main(["explain", str(result.folder), "--round", "1"]) == 0
    assert "  cut off in\n" in capsys.readouterr().out


def test_names_of_what_was_changed_are_folded_where_they_must_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table was as wide as it liked, and a hair less time `-0.0%`."""
    run = made_run(tmp_path, "v", 0, [0.1, 0.2])
    change = Change("without the slowest of 120% asked", ("a=1",))
    case = Counterfactual(change, time_s=20 * (1 - 1e-5), lost=0.338)
    told = replace(explain(run, what_if=False), what_if=WhatIf([case], 0.5), why_none="")
    monkeypatch.setenv("COLUMNS", "50")
    rows = as_text(told).partition("shortest first:\n")[2].splitlines()[:3]
    assert [" ".join(row.split()) for row in rows] == [
        "without the slowest of 20.0 s 0.0% 33.8% lost",
        "120% asked",
        "as it was 20.0 s 50.0% lost",
    ]
    assert rows[1].startswith("    120%")
    assert max(map(len, rows)) <= 50


def test_it_is_told_what_can_not_be_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    result = made(tmp_path)
    assert main(["explain", str(tmp_path)]) == 2
    told = f"{tmp_path} is not a run folder; below it there are {result.folder}\n"
    assert told in capsys.readouterr().err
    assert main(["explain", str(result.folder), "--round", "9"]) == 2
    assert "has no round 9; its rounds: 1 to 4" in capsys.readouterr().err
    assert main(["explain", str(result.folder), "--round", "1", "--what-if"]) == 2
    assert "--what-if runs the clock of a whole run again" in capsys.readouterr().err
    assert main(["explain", str(result.folder), "--no-what-if"]) == 0
    assert "With one thing changed" not in capsys.readouterr().out


def test_a_finished_run_without_rounds_is_not_said_to_have_none_yet(tmp_path: Path) -> None:
    rounds = {"clients": 4, "stop": {"time": "1 ms"}}
    with pytest.raises(InputError, match=r"has no round 1; it ended without any$"):
        explain(made(tmp_path, rounds=rounds), 1)


def test_a_strangers_code_is_not_run_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = made(tmp_path)
    path = result.folder / "scenario.yaml"
    text = path.read_text()
    path.write_text(text.replace("name: uniform", "name: 'stranger:Evil'"))
    assert main(["explain", str(result.folder)]) == 0
    assert "--allow-code to allow it" in capsys.readouterr().out


def test_rounds_that_are_not_there_are_refused_from_python_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no round 0"):
        explain(made(tmp_path), 0)


def test_clients_are_called_what_the_data_call_them(tmp_path: Path) -> None:
    """Which hospital is device 1 was told by `simfl partition` and `evaluate` alone."""
    rows = [f"{n}.5,{n % 2},{who},{n % 3 // 2}" for who in ("N\tW", "A & B") for n in range(6)]
    (tmp_path / "own.csv").write_text("\n".join(["x,ill,who,test", *rows]))
    own = {"name": "csv", "file": str(tmp_path / "own.csv"), "label": "ill"}
    data = {"dataset": {**own, "client": "who", "test": "test"}, "partition": "natural"}
    fleet = [{"name": "ward", "count": 2, "compute": "9 samples/s"}]
    scenario = {"data": data, "model": "logistic_regression", "fleet": fleet}
    result = made(tmp_path, **scenario, rounds={"clients": 2, "stop": {"rounds": 1}})
    text = as_text(explanation := explain(result, 1))
    assert "1 (N W, ward) " in text  # tabs and line breaks would move all after them
    assert "cut off in" not in text  # nobody was
    assert "device 0 (A & B, ward)" in text or "device 1 (N W, ward)" in text
    parts = explanation.as_dict()["participations"]
    assert {part["client"]: part["name"] for part in parts} == {0: "A & B", 1: "N\tW"}
    assert r'"device 1 (N\tW)"' in trace(result)
    page = write_report([result], tmp_path / "page.html").read_text()
    assert "device 0 (A &amp; B): heard 1 of 1 times" in page
    assert "A &amp; B</td>" in page
    assert '["device","client","asked","counted"]' in page


def test_it_says_who_attacks(tmp_path: Path) -> None:
    groups = [{"name": "honest", "count": 2}, {"name": "odd", "count": 2, "attack": "sign_flip"}]
    explanation = explain(made(tmp_path, fleet=groups), 1)
    told = {part.client: part.attack for part in explanation.participations}
    assert told == {0: "", 1: "", 2: "sign_flip", 3: "sign_flip"}
    text = as_text(explanation)
    assert "1 (honest) " in text
    assert "3 (odd, attacker) " in text
    groups[1]["attack"] = {"name": "sign_flip", "from_round": 2}
    later = made(tmp_path / "later", fleet=groups)
    assert "attacker" not in as_text(explain(later, 1))
    assert "3 (odd, attacker) " in as_text(explain(later, 2))
