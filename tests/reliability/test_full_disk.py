"""A disk that is full at any write of a run: a clear error, nothing corrupt, and it goes on."""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario
from simfl.cli import main
from simfl.runs import checkpoint
from simfl.runs.folder import is_run
from simfl.runs.job import Job
from simfl.runs.run import run_one
from tests.reliability.soak import SOAKS, broken, ended
from tests.tiny import TINY

SMALL = {**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}, "aggregation": "fedadam"}


class Disk:
    """Stands between a run and its disk, which is full after so many writes.

    Args:
        room: writes that still fit; the next one is cut in half where it can be (-1: none at all).
    """

    def __init__(self, room: int) -> None:
        self.writes, self._room = 0, room
        self._write, self._open = os.write, io.open

    @contextmanager
    def installed(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", self.write)
            patch.setattr(io, "open", self.open)
            yield

    def claim(self) -> bool:
        """Count a write; return whether all of it fits, and raise if nothing of it does."""
        self.writes += 1
        if self.writes > self._room + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.writes <= self._room

    def write(self, descriptor: int, data: Any) -> int:
        fits = self.claim()
        return self._write(descriptor, data if fits else data[: len(data) // 2])

    def open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        opened = self._open(file, mode, *args, **options)
        return opened if set("wax+").isdisjoint(mode) else File(opened, self)


class File:
    """A file open for writing."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        if not self._disk.claim():
            self._file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data))


def whole(top: Path) -> tuple[dict[str, bytes], int]:
    """Return what a run ends with that has a disk of its own, and how many writes it takes."""
    disk = Disk(10**9)
    with disk.installed():
        run_one(Job("default", Scenario.from_dict(SMALL), top), Options(checkpoint_every_s=0.0))
    return ended(top), disk.writes


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
        assert ended(folder) == expected
        assert not list(folder.glob("*.partial"))
