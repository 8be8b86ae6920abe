"""Resuming from a damaged folder: what is lost is made up for, what was changed is told."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from simfl import Options
from simfl.errors import RunError
from simfl.runs.folder.checkpoint import FILE, PREVIOUS, load, save
from simfl.runs.folder.folder import CHECKPOINT, SCENARIO
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from tests.runs.resuming import EAGER, Stopped, contents, scenario, stop_after


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


def test_a_line_that_is_no_event_is_named_with_what_helps(cut) -> None:
    """Such as zeros, which a file system may put where it lost what a log held."""
    folder, _ = cut
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:9], bytes(len(lines[9]) - 1) + b"\n", *lines[10:]]))
    told = r"events.jsonl: line 10: .* is no event \(overwrite=True begins anew\)"
    with pytest.raises(RunError, match=told):
        resume(folder)


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


@pytest.mark.parametrize("part", ["models", "selector", "aggregator", "path", "version"])
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


def test_a_scenario_that_has_changed_is_told_of(cut, caplog: pytest.LogCaptureFixture) -> None:
    """Where only what is still to come hangs on it, such as the end, no replay shows it."""
    folder, _ = cut
    path = folder / SCENARIO
    text = path.read_text()
    path.write_text(text.replace("{rounds: 4}", "{rounds: 5}"))
    assert path.read_text() != text
    assert resume(folder).summary["rounds"] == 5
    assert "default seed 0: changed since it was begun: scenario.yaml; what is" in caplog.text


def test_a_finished_run_is_left_alone(cut) -> None:
    folder, expected = cut
    resume(folder)
    before = (folder / "provenance.json").read_bytes()
    assert contents(resume(folder).folder) == expected
    assert (folder / "provenance.json").read_bytes() == before
