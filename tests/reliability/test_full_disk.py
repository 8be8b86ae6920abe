"""A disk that is full at any write of a run: a clear error, nothing corrupt, and it goes on."""

from pathlib import Path

import pytest

from simfl import Options, Scenario
from simfl.cli import main
from simfl.runs.folder import checkpoint
from simfl.runs.folder.folder import is_run
from simfl.runs.job import Job
from simfl.runs.run import run_one
from tests.reliability.disks import Disk
from tests.reliability.soak import SOAKS
from tests.run_folders import broken, computed
from tests.tiny import TINY

SMALL = {**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}, "aggregation": "fedadam"}


def whole(top: Path) -> tuple[dict[str, bytes], int]:
    """Return what a run ends with that has a disk of its own, and how many writes it takes."""
    disk = Disk(10**9)
    with disk.installed():
        run_one(Job("default", Scenario.from_dict(SMALL), top), Options(checkpoint_every_s=0.0))
    return computed(top), disk.writes


def test_at_every_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint.Checkpoints, "due", True)
    expected, writes = whole(tmp_path / "whole")
    assert writes > 20
    file = tmp_path / "small.yaml"
    file.write_text(Scenario.from_dict(SMALL).to_yaml())
    for room in range(-1, writes, 1 if SOAKS else 4):
        out = tmp_path / f"{room}"
        command = ["run", str(file), "--out", str(out), "--quiet", "--no-report"]
        with Disk(room).installed():
            assert main(command) == 1
        error = capsys.readouterr().err
        assert "No space left on device" in error
        assert "internal error" not in error
        folder = out / "default" / "seed-0"
        if is_run(folder):
            assert "simfl resume" in error
            assert broken(folder) == []
        assert main([*command, "--resume"]) == 0
        assert computed(folder) == expected
        assert not list(folder.glob("*.partial"))
