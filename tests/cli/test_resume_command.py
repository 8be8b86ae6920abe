"""`simfl resume`: interrupted runs end as if they never were; finished ones are left alone."""

import json
import re
import shutil
from pathlib import Path

import pytest

from simfl.cli import main

SCENARIO = """\
name: resumed
data: {dataset: {name: synthetic, alpha: 1, beta: 1}}
model: logistic_regression
fleet: {count: 30, compute: {distribution: lognormal, median: 50 samples/s, sigma: 0.5}}
training: {epochs: 1, batch_size: 8}
rounds: {clients: 5, stop: {rounds: 4}, policy: {name: synchronous, deadline: {stragglers: 30%}}}
seeds: 0-1
"""
SAME = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "scenario.yaml", "trace.json")


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two run folders, below `o`."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    assert main(["run", "s.yaml", "--out", "o", "-q", "--time-only"]) == 0
    return [Path(f"o/default/seed-{seed}") for seed in (0, 1)]


def break_off(folder: Path) -> None:
    """Leave the folder as a run that was killed in the middle."""
    for name in ("summary.json", "report.html", "trace.json"):
        (folder / name).unlink()
    for name in ("events.jsonl", "rounds.csv", "clients.csv"):
        text = (folder / name).read_text()
        (folder / name).write_text(text[: 2 * len(text) // 3])


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME}


def test_files_equal_those_of_an_uninterrupted_run(
    finished: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = [contents(folder) for folder in finished]
    for folder in finished:
        break_off(folder)
    assert main(["resume", "o"]) == 0
    out, err = capsys.readouterr()
    assert [contents(folder) for folder in finished] == before
    assert out.splitlines()[-1] == f"Report: {Path('o') / 'report.html'}"
    assert "default seed 1: " in err


def test_a_run_that_is_resumed_is_that_of_one_that_never_stopped(
    finished: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(finished[0])
    break_off(finished[0])
    assert main(["resume", str(finished[0]), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    (found,) = json.loads(out)
    assert found.pop("folder") == str(finished[0])
    assert found.pop("variant") == "default"
    assert found == json.loads(before["summary.json"])
    assert contents(finished[0]) == before


@pytest.mark.parametrize(
    ("here", "named"),
    [(".", ["o/default/seed-0"]), (".", ["o/default"]), ("o/default", ["seed-0"])],
)
def test_the_page_of_the_study_follows(
    here: str,
    named: list[str],
    finished: list[Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It went on saying that the run was not done."""
    page = Path("o/report.html").resolve()

    def told() -> str:
        return re.sub(r"<td>[\d.]+ m?s</td>", "", page.read_text())  # but for the host's seconds

    assert main(["report", "o"]) == 0
    before = told()
    break_off(finished[0])
    assert main(["report", "o"]) == 0
    assert told() != before
    monkeypatch.chdir(here)
    assert main(["resume", *named]) == 0
    assert told() == before
    assert Path(capsys.readouterr().out.splitlines()[-1].split()[1]).resolve() == page
    assert not list(page.parent.glob("default/report.html"))


def test_finished_runs_are_left_alone(finished: list[Path]) -> None:
    before = [contents(folder) for folder in finished]
    times = [(folder / "events.jsonl").stat().st_mtime_ns for folder in finished]
    assert main(["resume", "o", "-q", "--no-report"]) == 0
    assert [contents(folder) for folder in finished] == before
    assert [(folder / "events.jsonl").stat().st_mtime_ns for folder in finished] == times


def test_a_log_that_replay_does_not_give_is_refused(
    finished: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished[0]
    break_off(folder)
    log = folder / "events.jsonl"
    log.write_text(log.read_text().replace('"asked":5', '"asked":6', 1))
    changed = log.read_bytes()
    assert main(["resume", str(folder), "-q"]) == 1
    error = capsys.readouterr().err
    assert "line 2 differs from the recorded one" in error
    assert "Traceback" not in error
    assert log.read_bytes().startswith(changed[: changed.rfind(b"\n") + 1])
    assert not (folder / "summary.json").exists()


@pytest.mark.parametrize(
    ("folder", "told"), [("nowhere", "nowhere: no such folder"), (".", ". holds no run")]
)
def test_no_run_there(
    folder: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["resume", folder]) == 2
    assert capsys.readouterr().err == f"error: {told}\n"


def test_what_a_study_never_began_is_told(
    finished: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(finished[1])
    break_off(finished[0])
    capsys.readouterr()
    assert main(["resume", "o"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Never begun, of what was asked for together: 1 run (o/default/seed-1)." in out
    assert "--resume, makes what is missing" in out
    assert main(["resume", str(finished[0])]) == 0
    assert "Never begun" not in capsys.readouterr().out


def test_runs_that_were_moved_or_are_named_from_inside_lack_nothing(
    finished: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("o/default")
    assert main(["resume", "."]) == 0
    assert main(["resume", "seed-0", "seed-1"]) == 0
    Path("elsewhere").mkdir()
    Path("seed-1").rename("elsewhere/mine")
    assert main(["resume", "elsewhere"]) == 0
    assert "Never begun" not in capsys.readouterr().out


def test_short_rounds_are_told_of_each_study_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of two studies whose variants share a name were counted together."""
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO.replace("clients: 5", "clients: 5, min_clients: 1"))
    rare = "fleet.availability={name: on_off, on: 30 s, off: 10 min}"
    command = ["run", "s.yaml", "-q", "--time-only", "--no-report", "--set", rare]
    assert main([*command, "--out", "o"]) == 0
    assert main([*command, "--out", "p", "--set", "rounds.clients=9"]) == 0
    assert main(["resume", "o", "p", "--no-report"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "fewer clients" in line]
    assert [line.partition(": ")[0] for line in told] == [
        f"default (rounds.clients {clients})" for clients in (5, 9)
    ]
    assert all(" of 8 rounds" in line for line in told)
