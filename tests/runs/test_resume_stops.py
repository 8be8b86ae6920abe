"""What stops a run from outside, a full disk, Ctrl-C, a signal: its folder can be resumed."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from simfl import Options
from simfl.cli import main as cli
from simfl.errors import RunError
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from tests.runs.resuming import CASES, EAGER, contents, scenario


@pytest.mark.parametrize("after", [3, 10, 14])
def test_a_full_disk_ends_the_run_with_a_clear_error_and_it_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, after: int
) -> None:
    [whole] = jobs(scenario({}), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario({}).to_yaml())
    calls, write = 0, os.write

    def full(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == after:  # half of it still fits
            return write(descriptor, data[: len(data) // 2])
        if calls > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert cli(["run", str(file), "--out", str(tmp_path / "cut"), "--quiet"]) == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error
    assert "simfl resume" in error
    assert "Traceback" not in error
    [folder] = (tmp_path / "cut").glob("*/seed-0")
    for name in ("events.jsonl", "rounds.csv", "clients.csv"):
        data = (folder / name).read_bytes()
        assert not data or data.endswith(b"\n")
        assert expected[name].startswith(data)
    assert contents(resume(folder).folder) == expected


def test_no_room_for_one_more_file_is_a_clear_error_and_the_other_runs_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario({}).to_yaml())
    command = ["run", str(file), "--seeds", "0,1", "--out", str(tmp_path / "o"), "--quiet"]
    open_ = os.open

    def full(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("seed-0/clients.csv"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return open_(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        assert cli(command) == 1
    cut = next(tmp_path.glob("o/*/seed-0"))
    error = capsys.readouterr().err
    assert f"error: can't write {cut}/clients.csv: No space left on device" in error
    assert f"`simfl resume {cut}`" in error
    assert (cut.with_name("seed-1") / "summary.json").exists()
    assert cli([*command, "--resume"]) == 0


def test_no_room_for_a_checkpoint_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [job] = jobs(scenario({}), tmp_path)

    def full(path: Path, data: bytes) -> None:
        raise RunError(f"can't write {path}: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("simfl.runs.folder.checkpoint.write_output", full)
        with pytest.raises(RunError, match=r"state\.pt: No space left.*\n.*`simfl resume "):
            run_one(job, EAGER)
    assert resume(job.folder).summary["rounds"] == 4


def test_control_c_keeps_what_is_complete_and_exits_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from simfl.coordinators.training import TrainingCoordinator

    [whole] = jobs(scenario({}), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario({}).to_yaml())
    aggregate = TrainingCoordinator.aggregate

    def interrupted(self, updates):
        if updates.round == 3:
            raise KeyboardInterrupt  # as a signal would, in the middle of training
        return aggregate(self, updates)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingCoordinator, "aggregate", interrupted)
        assert cli(["run", str(file), "--out", str(tmp_path / "cut"), "--quiet"]) == 130
    assert "interrupted" in capsys.readouterr().err
    [folder] = (tmp_path / "cut").glob("*/seed-0")
    rounds = (folder / "rounds.csv").read_bytes()
    assert rounds.count(b"\n") == 1 + 2
    assert expected["events.jsonl"].startswith((folder / "events.jsonl").read_bytes())
    assert contents(resume(folder).folder) == expected


def test_control_c_while_a_client_judges_its_own_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work is computed but neither kept nor dropped: nothing may be booked of it."""
    from simfl.training.executors.inline import Inline

    [whole] = jobs(scenario(CASES["filter"]), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario(CASES["filter"]), tmp_path / "cut")
    calls, train = 0, Inline.train

    def interrupted(self, batch):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return train(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Inline, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one(job, EAGER)
    assert expected["events.jsonl"].startswith((job.folder / "events.jsonl").read_bytes())
    assert contents(resume(job.folder).folder) == expected


ENDED = """
import os, signal
from simfl.components.selectors.round_robin import RoundRobin

class Ended(RoundRobin):
    def select(self, view, *rest):
        if view.round == 3 and "SIGNAL" in os.environ:
            signal.raise_signal(int(os.environ["SIGNAL"]))
        return super().select(view, *rest)
"""
RUN = (
    "import signal, sys\n"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal\n"
    "from simfl.cli import main\n"
    "sys.exit(main())"
)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_a_command_are_answered_as_ctrl_c_is(
    tmp_path: Path, signal_: signal.Signals
) -> None:
    name = f"ended_by_{signal_.name.lower()}"
    (tmp_path / f"{name}.py").write_text(ENDED)
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario({}).to_yaml())
    chosen = f"selection={name}.py:Ended"
    words = ["run", str(file), "--set", chosen, "--allow-code", "--quiet"]
    told = subprocess.run(
        [sys.executable, "-c", RUN, *words, "--out", str(tmp_path / "cut")],
        env={**os.environ, "SIGNAL": str(int(signal_))},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 128 + signal_
    assert told.stderr == "error: interrupted; the same command with --resume goes on\n"
    for out, more in (("cut", ["--resume"]), ("whole", [])):
        assert cli([*words, "--no-report", "--out", str(tmp_path / out), *more]) == 0
    cut, whole = (next((tmp_path / out).glob("*/seed-0")) for out in ("cut", "whole"))
    assert contents(cut) == contents(whole)


def test_a_signal_that_comes_during_an_import_is_told_by_the_exit_code(tmp_path: Path) -> None:
    """``python -m`` ended by SIGINT instead: it came in code kept as text, as in dataclasses."""
    (tmp_path / "ended.py").write_text(
        "import signal, sys, simfl.cli.app\n"
        "simfl.cli.app.invoke = lambda _: exec('signal.raise_signal(signal.SIGTERM)')\n"
        "sys.exit(simfl.cli.main())"
    )
    command = [sys.executable, "-m", "ended"]
    told = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert (told.returncode, told.stderr) == (128 + signal.SIGTERM, "interrupted\n")


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_waits_until_pytorch_is_imported(tmp_path: Path, signal_: signal.Signals) -> None:
    """Of an exception in its C++ the process was aborted."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        f"import signal, sys\nsignal.raise_signal({int(signal_)})\nprint('imported')"
    )
    (tmp_path / "ended.py").write_text(
        "import sys, time, simfl.cli.app\n"
        "simfl.cli.app.invoke = lambda _: (exec('import torch'), time.sleep(60))\n"
        "sys.exit(simfl.cli.main())"
    )
    command = [sys.executable, "-m", "ended"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 128 + signal_
    assert (told.stdout, told.stderr) == ("imported\n", "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_process_leaves_a_readable_folder_that_resumes(
    tmp_path: Path, signal_: signal.Signals
) -> None:
    changes = {**CASES["fedbuff"], "rounds.stop.rounds": 400}
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario(changes).to_yaml())
    out = str(tmp_path / "cut")
    command = [sys.executable, "-c", RUN, "run", str(file), "--out", out, "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    rounds = tmp_path / "cut" / "tiny" / "seed-0" / "rounds.csv"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = list((tmp_path / "cut").glob("*/seed-0/rounds.csv"))
        if found and found[0].read_bytes().count(b"\n") > 20:
            rounds = found[0]
            break
        time.sleep(0.01)
    process.send_signal(signal_)
    assert process.wait(60) == (-signal_ if signal_ == signal.SIGKILL else 128 + signal_)
    folder = rounds.parent
    assert not (folder / "summary.json").exists()
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    assert contents(resume(folder).folder) == expected


@pytest.mark.parametrize("moved", [True, False])
def test_a_folder_that_is_moved_or_removed_meanwhile_is_told_and_not_made_anew(
    tmp_path: Path, moved: bool
) -> None:
    """The failure was noted in a folder made for it, which then was no run's and in the way."""
    [whole] = jobs(scenario({}), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario({}), tmp_path / "study")
    aside = tmp_path / "aside"

    def move(_time_s: float, kind: str, facts: dict[str, Any]) -> None:
        if kind == "round_end" and facts["row"].round == 2:
            job.folder.rename(aside)
            if not moved:
                shutil.rmtree(aside)

    with pytest.raises(RunError, match="was moved or removed meanwhile"):
        run_one(job, Options(), [move])
    assert not job.folder.exists()
    if moved:
        assert contents(resume(aside).folder) == expected
