"""`simfl run` where results or something else are already: what is reused, refused, replaced."""

import json
from pathlib import Path

import pandas as pd
import pytest

from simfl.cli import main
from tests.cli.commanded import run
from tests.run_folders import files


def test_what_is_reused_is_told_in_a_line(
    file: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    run(file, "-q", "--out", "o", "--seeds", "0-1")
    run(file, "-q", "--out", "o", "--seeds", "0-1")
    assert (caplog.messages, capsys.readouterr()) == ([], ("", ""))
    run(file, "--out", "o", "--seeds", "0-2")
    [told] = caplog.messages
    assert told.startswith("2 of 3 runs are there already, finished: the results are reused; ")


def test_the_same_scenario_is_run_again(file: Path) -> None:
    run(file, "-q", "--out", "o")
    before = files(Path("o"))
    run(file, "-q", "--out", "o")
    after = files(Path("o"))
    assert before.keys() == after.keys()
    for name in before:
        if not name.endswith(("provenance.json", "report.html")):  # say when it was made
            assert after[name] == before[name]


@pytest.mark.parametrize("state", ["finished", "unfinished"])
def test_other_results_are_not_lost(
    state: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(file, "-q", "--out", "o")
    change = ["--set", "rounds.clients=6"]
    if state == "unfinished":
        Path("o/default/seed-0/summary.json").unlink()
        change = []  # not even the same scenario may take its place
    before = files(Path("o"))
    run(file, "--out", "o", *change, code=2)
    error = capsys.readouterr().err
    assert "--overwrite" in error
    if state == "finished":
        assert "rounds.clients: 5 there, 6 now" in error
        assert "simfl fork" not in error
    else:
        assert "simfl resume o/default/seed-0" in error
    assert files(Path("o")) == before
    run(file, "-q", "--out", "o", "--overwrite", *change)
    summary = json.loads(Path("o/default/seed-0/summary.json").read_text())
    assert summary["rounds"] == 3


def test_what_replaced_other_runs_and_was_interrupted_goes_on(
    file: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Runs of other settings stopped --resume, and --overwrite took from those already made."""
    run(file, "-q", "--out", "o", "--seeds", "0-3", "--no-report")
    change = ["--out", "o", "--set", "rounds.clients=6", "--no-report"]
    run(file, "-q", "--seeds", "0-1", "--overwrite", *change)  # and then it was interrupted
    summary, provenance = Path("o/default/seed-1/summary.json"), "o/default/seed-3/provenance.json"
    summary.unlink()
    Path(provenance).write_text("{")  # nobody knows what that run was
    before = files(Path("o"))
    run(file, "--seeds", "0-3", "--resume", *change, code=2)
    both = ["--seeds", "0-3", "--overwrite", "--resume", *change]
    run(file, *both, "--dry-run")
    assert "4 seeds, 3 rounds each, 1 finished and reused, 1 gone on" in capsys.readouterr().out
    assert files(Path("o")) == before
    run(file, *both)
    assert "1 of 4 runs are there" in caplog.messages[-1]
    assert "--overwrite alone computes them again" in caplog.messages[-1]
    after = files(Path("o"))
    begun, now = (
        [json.loads(there[f"default/seed-{seed}/provenance.json"])["started"] for seed in (0, 1)]
        for there in (before, after)
    )
    assert begun == now
    for seed in range(4):
        assert b"clients: 6" in after[f"default/seed-{seed}/scenario.yaml"]
        assert f"default/seed-{seed}/summary.json" in after


def test_a_run_that_is_to_last_longer_is_led_to_fork(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(file, "-q", "--out", "o")
    change = ["--set", "rounds.stop.rounds=5"]
    run(file, "--out", "o", "--resume", *change, code=2)
    error = capsys.readouterr().err
    assert "`simfl fork o/default/seed-0 --at end --set rounds.stop...`" in error
    table = pd.read_csv("o/default/seed-0/rounds.csv")
    command = ["fork", "o/default/seed-0", "--at", "end", "--name", "longer", "-q", *change]
    assert main(command) == 0
    longer = pd.read_csv("o/longer/seed-0/rounds.csv")
    assert longer.end_s[:3].tolist() == table.end_s.tolist()
    assert len(longer) == 5


def test_a_run_that_is_to_last_shorter_is_not(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(file, "-q", "--out", "o")
    run(file, "--out", "o", "--set", "rounds.stop.rounds=2", code=2)
    error = capsys.readouterr().err
    assert "rounds.stop.rounds: 3 there, 2 now" in error
    assert "longer" not in error


def test_pages_of_an_earlier_run_do_not_stay(file: Path) -> None:
    run(file, "-q", "--out", "o")
    run(file, "-q", "--out", "o", "--no-report", "--overwrite")
    assert not Path("o/default/seed-0/report.html").exists()
    assert not Path("o/default/seed-0/trace.json").exists()


@pytest.mark.parametrize("words", [[], ["--overwrite"]])
def test_a_folder_of_something_else_is_left_alone(
    words: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path("o/default/seed-0")
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("dear")
    run(file, "--out", "o", *words, code=2)
    assert "not a run folder" in capsys.readouterr().err
    assert files(Path("o")) == {"default/seed-0/thesis.tex": b"dear"}


def test_an_out_that_is_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("o").write_text("a file")
    run(file, "--out", "o", code=2)
    assert capsys.readouterr().err.splitlines()[-1].endswith("o is a file; give another --out")
    assert Path("o").read_text() == "a file"


@pytest.mark.parametrize("words", [[], ["--overwrite"], ["--resume"]])
def test_a_folder_in_the_folder_of_a_run(
    words: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run around it could be replaced no more: simfl had not written what lay in it."""
    run(file, "--out", "o", "-q", "--no-report")
    run(file, "--out", "o/default/seed-0", *words, code=2)
    error = capsys.readouterr().err
    assert error == "error: --out: o/default/seed-0 is the folder of a run; give another\n"
    assert not Path("o/default/seed-0/default").exists()


def test_a_run_folder_that_is_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("o/default").mkdir(parents=True)
    Path("o/default/seed-0").write_text("a file")
    run(file, "--out", "o", code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: o/default/seed-0 is a file; give another --out"
    assert Path("o/default/seed-0").read_text() == "a file"


def test_a_folder_that_can_not_be_written(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "o")

    monkeypatch.setattr(Path, "mkdir", refuse)
    run(file, "--out", "o", code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: can't make o/default/seed-0: Permission denied"
