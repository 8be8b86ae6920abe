"""`simfl verify`: a run that is repeated gives the same, or the first difference is told."""

import re
from pathlib import Path

import pytest
import torch

from simfl import Options, Scenario, run
from simfl.cli import main
from simfl.errors import InputError, RunError, ScenarioError
from simfl.runs.verify import Difference, verify
from tests.reliability.disks import Disk
from tests.run_folders import files
from tests.tiny import TINY, RunTiny


@pytest.mark.parametrize("time_only", [False, True])
def test_a_sound_run(run_tiny: RunTiny, capsys: pytest.CaptureFixture, time_only: bool) -> None:
    folder = run_tiny(None, Options(time_only=time_only)).folder
    before = files(folder)
    assert main(["verify", str(folder)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{folder}: the same, event by event")
    assert ("so is its model" in told) != time_only  # which has none
    assert ("there is no model" in told) == time_only
    assert files(folder) == before


def test_a_full_disk_is_no_reason_to_resume_what_is_gone(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture
) -> None:
    """The run is repeated in a temporary folder, which goes with the command."""
    folder = run_tiny().folder
    with Disk(6).installed():
        assert main(["verify", str(folder)]) == 1
    told = capsys.readouterr().err
    assert "No space left on device" in told
    assert told.endswith(f"; once that is mended, verify {folder} again\n")
    assert "resume" not in told


def test_a_changed_event(run_tiny: RunTiny, capsys: pytest.CaptureFixture) -> None:
    folder = run_tiny().folder
    log = folder / "events.jsonl"
    lines = log.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if '"dispatched"' in line)
    lines[place] = lines[place].replace('"full_epochs":2', '"full_epochs":3')
    log.write_text("\n".join(lines) + "\n")
    assert verify(folder) == Difference(place + 1, "full_epochs", 3, 2)
    assert main(["verify", str(folder)]) == 1
    words = f"event {place + 1}, 'full_epochs': 3 recorded, 2 repeated"
    assert words in capsys.readouterr().err


def test_a_log_cut_short(run_tiny: RunTiny) -> None:
    folder = run_tiny().folder
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:-1]))
    difference = verify(folder)
    assert difference is not None
    assert (difference.event, difference.recorded) == (len(lines), None)


@pytest.mark.parametrize("name", ["events.jsonl", "rounds.csv", "clients.csv"])
def test_a_file_that_is_missing(run_tiny: RunTiny, name: str) -> None:
    folder = run_tiny().folder
    (folder / name).unlink()
    with pytest.raises(RunError, match=rf"{name} is missing: there is nothing to compare with"):
        verify(folder)


def test_a_changed_model(run_tiny: RunTiny) -> None:
    folder = run_tiny().folder
    state = torch.load(folder / "model.pt", weights_only=True)
    next(iter(state.values()))[0] += 1e-6
    torch.save(state, folder / "model.pt")
    difference = verify(folder)
    assert difference is not None
    assert (difference.event, difference.field) == (None, "model.pt")


def test_changed_personal_layers(run_tiny: RunTiny) -> None:
    own = {"model.personal": ["3.*"], "data.local_validation": "20%", "evaluation.on": "clients"}
    folder = run_tiny(own).folder
    assert verify(folder) is None
    held = torch.load(folder / "personal.pt", weights_only=True)
    held["parameters"]["3.bias"][0] += 1e-6
    torch.save(held, folder / "personal.pt")
    difference = verify(folder)
    assert difference is not None
    assert (difference.event, difference.field) == (None, "personal.pt")


def test_what_is_no_finished_run(run_tiny: RunTiny, tmp_path: Path) -> None:
    folder = run_tiny().folder
    (folder / "summary.json").unlink()
    with pytest.raises(InputError, match="has not finished; go on with `simfl resume "):
        verify(folder)
    for place in (folder.parents[1], tmp_path / "nowhere"):
        with pytest.raises(InputError, match="is not a run folder"):
            verify(place)


def test_what_is_wrong_is_told_of_the_folder_not_of_its_copy(run_tiny: RunTiny) -> None:
    scenario = run_tiny().folder / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("name: uniform", "name: 'nowhere.py:Mine'"))
    with pytest.raises(ScenarioError, match=rf"^{re.escape(str(scenario))}:\d+:\d+: selection: "):
        verify(scenario.parent)


def test_a_trace_that_is_missing_is_told_of_the_folder_too(tmp_path: Path) -> None:
    """Its copy was named, which was gone by then."""
    trace = tmp_path / "sessions.csv"
    trace.write_text("device,start_s,end_s\na,0,90000\n")
    fleet = {**TINY["fleet"], "availability": {"name": "trace", "file": trace.name, "shift": False}}
    scenario = Scenario.from_dict(TINY | {"fleet": fleet}, folder=tmp_path)
    [result] = run(scenario, tmp_path / "o", Options(time_only=True))
    trace.unlink()
    written = re.escape(str(result.folder / "scenario.yaml"))
    with pytest.raises(ScenarioError, match=rf"^{written}:\d+:\d+: fleet\[0\].availability: can't"):
        verify(result.folder)


def test_the_files_of_a_run_that_came_from_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """Who named the folder in its scenario.yaml was told by check that it is another scenario."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    (theirs / "sessions.csv").write_text("device,start_s,end_s\na,0,90000\n")
    traced = {"name": "trace", "file": "sessions.csv", "shift": False}
    fleet = {**TINY["fleet"], "availability": traced}
    scenario = Scenario.from_dict(TINY | {"fleet": fleet}, folder=theirs)
    [result] = run(scenario, tmp_path / "o", Options(time_only=True))
    before = files(result.folder)
    theirs.rename(ours)
    assert main(["verify", str(result.folder)]) == 2
    assert "or give --folder DIR, where they are, and leave" in capsys.readouterr().err
    assert main(["verify", str(result.folder), "--folder", str(ours)]) == 0
    assert "the same, event by event" in capsys.readouterr().out
    assert not caplog.text  # nothing has changed
    with (ours / "sessions.csv").open("a") as trace:
        trace.write("b,0,90000\n")
    assert verify(result.folder, files=ours) is None
    assert "changed since it was begun: sessions.csv;" in caplog.text
    with pytest.raises(InputError, match="nowhere: no such folder"):
        verify(result.folder, files=tmp_path / "nowhere")
    assert files(result.folder) == before
