"""Resuming: whatever interrupted a run, its files become those of an uninterrupted one."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from simfl import Options, Scenario
from simfl.cli import main as cli
from simfl.errors import RunError
from simfl.runs.checkpoint import FILE, PREVIOUS, load, save
from simfl.runs.folder import CHECKPOINT
from simfl.runs.run import jobs, resume, run_one
from tests.tiny import TINY

FILES = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt", "scenario.yaml")
EAGER = Options(checkpoint_every_s=0.0)
FLAKY = {"fleet.availability": {"name": "on_off", "on": "40 s", "off": "10 s"}}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "deadline": {
        "rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "50%"}}, **FLAKY
    },
    "carry": {
        "rounds.policy": {
            "name": "synchronous", "deadline": {"stragglers": "60%"}, "late": "carry",
            "over_select": "150%",
        },
        "aggregation": "fedbuff",
    },
    "power_of_choice": {"selection": "power_of_choice", "aggregation": "fedavgm"},
    "scaffold": {"aggregation": "scaffold", "rounds.stop.rounds": 6, **FLAKY},
    "afl": {"selection": "afl", "aggregation": "fedadam", **FLAKY},
    "fedbuff": {
        "rounds.policy": {"name": "fedbuff", "buffer": 2, "max_staleness": 3},
        "aggregation": "fedbuff",
        "rounds.stop.rounds": 9,
        **FLAKY,
    },
    "fedasync": {
        "rounds.policy": {"name": "fedasync", "concurrency": 3, "server_time": "500 ms"},
        "selection": "power_of_choice",
        "aggregation": "fedasync",
        "rounds.stop.rounds": 9,
    },
    "semi_synchronous": {
        "rounds.policy": {"name": "semi_synchronous", "period": {"stragglers": "50%"}},
        "selection": "afl",
        "fleet.on_offline": "salvage",
        "aggregation": "fedbuff",
        **FLAKY,
    },
    "tiered": {
        "rounds.policy": {"name": "tiered", "tiers": 2},
        "aggregation": {"name": "fedat", "tiers": 2},
        "rounds.stop.rounds": 8,
    },
    "filter": {
        "training.filter": {"name": "cmfl", "threshold": 0.7},
        "rounds.policy": {"name": "fedbuff", "buffer": 2},
        "training.compression": "quantize",
        "aggregation": "fedbuff",
        "rounds.stop.time": "1 h",
        **FLAKY,
    },
}  # fmt: skip


class Stopped(Exception):
    """What interrupts a run here."""


def scenario(changes: Mapping[str, Any]) -> Scenario:
    import json

    return Scenario.from_dict(
        TINY, overrides=[f"{path}={json.dumps(value)}" for path, value in changes.items()]
    )


def stop_after(events: int, error: type[BaseException] = Stopped):
    """Return a listener that raises once so many events were noted."""
    seen = 0

    def listen(time_s: float, kind: str, facts: dict[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == events:
            raise error

    return listen


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("case", CASES)
def test_a_run_interrupted_anywhere_comes_out_the_same(tmp_path: Path, case: str) -> None:
    [whole] = jobs(scenario(CASES[case]), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    events = expected["events.jsonl"].count(b"\n")
    rng = np.random.default_rng(sorted(CASES).index(case))
    places = sorted({events // 2, events - 1, *rng.integers(3, events, size=2).tolist()})
    used_checkpoints = 0
    for place in places:
        [job] = jobs(scenario(CASES[case]), tmp_path / f"at-{place}")
        with pytest.raises(Stopped):
            run_one(job, EAGER, listeners=[stop_after(place)])
        used_checkpoints += (job.folder / CHECKPOINT / FILE).exists()
        assert not (job.folder / "summary.json").exists()
        assert expected["events.jsonl"].startswith((job.folder / "events.jsonl").read_bytes())
        assert contents(resume(job.folder, EAGER).folder) == expected
    assert used_checkpoints >= 2


def test_a_run_interrupted_again_and_again_comes_out_the_same(tmp_path: Path) -> None:
    [whole] = jobs(scenario(CASES["fedbuff"]), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario(CASES["fedbuff"]), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(40)])
    for place in (55, 56, 90, 120):
        with pytest.raises(Stopped):
            resume(job.folder, EAGER, [stop_after(place)])
    assert contents(resume(job.folder, Options()).folder) == expected


def test_a_resumed_run_does_not_train_again_what_was_aggregated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simfl.training.executors.inline import Inline

    [job] = jobs(scenario({"rounds.stop.rounds": 6}), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(70)])
    trained: list[tuple[int, int]] = []
    train = Inline.train

    def spy(self, batch):
        trained.extend(order.key for order in batch.orders)
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", spy)
    result = resume(job.folder, EAGER)
    assert 0 < len(trained) < result.summary["trainings"]["computed"]


def test_a_time_only_run_resumes_from_the_start(tmp_path: Path) -> None:
    only = Options(time_only=True)
    changes = {**CASES["deadline"], "rounds.stop.rounds": 12}
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = {**contents_of_time(run_one(whole, only).folder)}
    [job] = jobs(scenario(changes), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, only, listeners=[stop_after(101)])
    assert contents_of_time(resume(job.folder).folder) == expected


def contents_of_time(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if name != "model.pt"}


@pytest.fixture
def cut(tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """Return an interrupted run's folder, and the contents it should come to have."""
    [whole] = jobs(scenario({}), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario({}), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(60)])
    return job.folder, expected


@pytest.mark.parametrize("name", ["events.jsonl", "rounds.csv", "clients.csv"])
@pytest.mark.parametrize("lost", [1, 2, 30, 200])
def test_torn_and_missing_lines_are_made_up_for(cut, name: str, lost: int) -> None:
    folder, expected = cut
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: max(len(data) - lost, 0)])
    assert contents(resume(folder).folder) == expected


def test_half_a_letter_at_the_end_is_made_up_for(cut) -> None:
    folder, expected = cut
    data = (folder / "clients.csv").read_bytes()
    (folder / "clients.csv").write_bytes(data + "5,7,✓".encode()[:-1])
    assert contents(resume(folder).folder) == expected


def test_a_log_shorter_than_its_checkpoint_starts_over(cut) -> None:
    folder, expected = cut
    for name in ("events.jsonl", "rounds.csv", "clients.csv"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) // 10])
    assert contents(resume(folder).folder) == expected


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
@pytest.mark.parametrize("names", [(FILE,), (FILE, PREVIOUS)])
def test_a_damaged_checkpoint_is_told_of_and_the_run_goes_on_from_further_back(
    cut, caplog: pytest.LogCaptureFixture, names: tuple[str, ...], damage: bytes | None
) -> None:
    folder, expected = cut
    for name in names:
        path = folder / CHECKPOINT / name
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if damage is None else damage)
    assert contents(resume(folder).folder) == expected
    files = [cast(tuple[Path], record.args)[0] for record in caplog.records]
    assert [file.name for file in files] == list(names)
    assert all("it is damaged" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_in_a_checkpoint_change_no_result(cut, seed: int) -> None:
    folder, expected = cut
    rng = np.random.default_rng(seed)
    path = folder / CHECKPOINT / FILE
    data = bytearray(path.read_bytes())
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)
    assert contents(resume(folder).folder) == expected


@pytest.mark.parametrize("part", ["models", "selector", "aggregator", "owed", "version"])
def test_a_state_that_does_not_fit_is_refused_in_plain_words(cut, part: str) -> None:
    folder, _ = cut
    state = load(folder, recorded=10**9)
    assert state is not None
    del state["coordinator"][part]
    save(folder / CHECKPOINT, state)
    with pytest.raises(RunError, match=r"does not fit .*delete the folder `checkpoint`"):
        resume(folder)


def test_a_changed_log_is_an_error_that_shows_both_lines(cut) -> None:
    folder, _ = cut
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace('"client":', '"client":9')
    (folder / "events.jsonl").write_text("".join(lines))
    with pytest.raises(RunError, match=r"line 4 differs from the recorded one.*\n.*\n.*replayed"):
        resume(folder)


def test_a_finished_run_is_left_alone(cut) -> None:
    folder, expected = cut
    resume(folder)
    before = (folder / "provenance.json").read_bytes()
    assert contents(resume(folder).folder) == expected
    assert (folder / "provenance.json").read_bytes() == before


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


def test_no_room_for_a_checkpoint_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [job] = jobs(scenario({}), tmp_path)

    def full(path: Path, data: bytes) -> None:
        raise RunError(f"can't write {path}: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("simfl.runs.checkpoint.write_atomically", full)
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

    def interrupted(self, round_, selected, arrivals):
        if round_ == 3:
            raise KeyboardInterrupt  # as a signal would, in the middle of training
        return aggregate(self, round_, selected, arrivals)

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


@pytest.mark.slow
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_a_readable_folder_that_resumes(
    tmp_path: Path, signal_: signal.Signals
) -> None:
    changes = {**CASES["fedbuff"], "rounds.stop.rounds": 400}
    file = tmp_path / "tiny.yaml"
    file.write_text(scenario(changes).to_yaml())
    main = "import sys; from simfl.cli import main; sys.exit(main(sys.argv[1:]))"
    out = str(tmp_path / "cut")
    command = [sys.executable, "-c", main, "run", str(file), "--out", out, "--quiet"]
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
    assert process.wait(60) == (130 if signal_ == signal.SIGINT else -signal.SIGKILL)
    folder = rounds.parent
    assert not (folder / "summary.json").exists()
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    assert contents(resume(folder).folder) == expected
