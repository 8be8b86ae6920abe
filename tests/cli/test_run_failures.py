"""`simfl run` where runs or pages fail: the others are shown, and it is told how to go on."""

import json
import re
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.errors import RunError
from tests.cli.commanded import SCENARIO, run

SELECTOR = "selection: {name: 'tests.runs.faulty:FaultySelector', fault: raises}"
HALF = f"variants: {{sound: {{}}, faulty: {{{SELECTOR}}}}}\nseeds: 0-1\n"


def test_the_others_are_shown_before_that_is_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SCENARIO + HALF)
    run(file, "--out", "o", "--allow-code", code=1)
    out, err = capsys.readouterr()
    folders = [f"  {Path('o') / 'sound' / f'seed-{seed}'}" for seed in (0, 1)]
    assert [line for line in out.splitlines() if "seed-" in line] == folders
    assert out.splitlines()[-1] == f"Report: {Path('o') / 'report.html'} (all 4 runs there)"
    assert "faulty seed 1 in round 2: selector" in Path("o/report.html").read_text()
    assert "error: faulty seed 0, faulty seed 1: selector" in err
    run(file, "--out", "o", "--allow-code", "--resume", "--json", code=1)
    shown = json.loads(capsys.readouterr().out)
    assert [one["folder"] for one in shown] == ["o/sound/seed-0", "o/sound/seed-1"]


def test_a_seed_that_draws_what_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It kept the seeds after it from being run, and those before it from being shown."""
    drawn = "{distribution: data_size, mean: 10 samples/s, std: 4.2 samples/s, correlation: 0.2}"
    changes = ["--set", f"fleet.compute={drawn}", "--set", "data.partition=dirichlet"]
    refused = (8, 9)
    run(file, "--out", "o", "--seeds", "7-10", "--jobs", "1", *changes, code=2)
    out, err = capsys.readouterr()
    told = err.partition("error: ")[2]
    for seed in range(7, 11):
        assert (f"seed-{seed}" in out) == (seed not in refused)
        assert (f"default seed {seed}: " in told) == (seed in refused)


def test_where_all_fail_none_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(SCENARIO + SELECTOR)
    run(file, "--out", "o", "--allow-code", code=1)
    assert capsys.readouterr().out == ""
    assert not Path("o/default/seed-0/report.html").exists()


def test_a_full_disk_fails_the_run(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    real, written = os.write, 0

    def write(descriptor: int, data: bytes) -> int:
        nonlocal written
        written += len(data)
        if written > 5000:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    run(file, "-q", "--out", "o", code=1)
    error = capsys.readouterr().err
    assert "No space left on device" in error
    assert "simfl resume" in error
    assert "Traceback" not in error
    monkeypatch.undo()
    for name in ("events.jsonl", "rounds.csv", "clients.csv"):
        assert (file.parent / "o/default/seed-0" / name).read_text().endswith("\n")


def test_an_interruption_tells_how_to_go_on_whenever_it_comes(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    fork = ["fork", "o/default/seed-0", "--at", "1s", "-q", "--set", "rounds.clients=4"]
    anew = ["run", str(file), "--time-only", "--out", "o", "-q", "--overwrite"]
    same = "the same command"
    tune = ["tune", str(file), "--time-only", "--out", "t", "-q", "--objective", "time",
            "-p", "rounds.clients=[1, 2]", "--trials", "2"]  # fmt: skip
    run(file, "--out", "o", "-q", "--no-report")
    for place, words, told in (
        (
            "simfl.runs.forks.fork.prepare",
            fork,
            "nothing is forked yet, the same command begins anew",
        ),
        (
            "simfl.runs.folder.checkpoint.inherit",  # its folder holds a run by then
            fork,
            "nothing is forked yet, the same command begins anew",
        ),
        ("simfl.runs.run.simulate", fork, "`simfl resume o/default-fork/seed-0` goes on"),
        (
            "simfl.report.write_reports",
            ["run", str(file), "--time-only", "--out", "o", "-q"],
            "the runs are done, `simfl report o` tells",
        ),
        ("simfl.runs.run.simulate", anew, f"{same} with --resume beside --overwrite goes on"),
        ("simfl.runs.run.simulate", tune, f"{same} goes on"),
        ("simfl.runs.run.simulate", [*anew, "--resume"], f"{same} goes on"),
        ("simfl.runs.run.simulate", [*tune, "--overwrite"], f"{same} with --resume beside --ov"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupted)
            assert main(words) == 130
        assert f"interrupted; {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (RunError("can't write o/report.html: No space left on device"), "can't write o/report"),
        (MemoryError(), r"too little memory \(MemoryError\(\)\)"),
        (ImportError("x.so: failed to map segment"), r"too little memory \(ImportError"),
    ],
)
def test_pages_that_fail_take_nothing_from_the_runs(
    file: Path,
    fault: Exception,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("simfl.report.write_reports", fail)
    assert main(["run", str(file), "--time-only", "--out", "o", "-q"]) == 1
    error = capsys.readouterr().err
    done = (
        "the runs are done; once that is mended, `simfl report o` tells"  # which fails of it, too
    )
    assert re.match(f"error: {why}.*; {done}\n", error)
