"""Every command that writes: on a full disk, interrupted, below a file, where it may not write."""

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from simfl import Scenario, resume
from simfl.cli import main
from simfl.runs.folder.folder import is_finished, is_run
from tests.reliability.disks import WRITING, Disk, full
from tests.reliability.soak import SOAKS
from tests.run_folders import broken, computed
from tests.tiny import PILOT, TINY

SMALL = {**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}}
FILES = {
    "export": ["export", "run/default/seed-0", "--out", "out/tables"],
    "plot .svg": ["plot", "run/default/seed-0", "--out", "out/file.svg"],
    "plot .png": ["plot", "run/default/seed-0", "--out", "out/file.png"],
    "report": ["report", "run/default/seed-0", "--out", "out/file.html"],
    "calibrate": ["calibrate", "pilot.csv", "--out", "out/file.yaml"],
    "calibrate --picture": ["calibrate", "pilot.csv", "--picture", "out/file.pdf"],
    "fleet": ["fleet", "s.yaml", "--out", "out/file.png"],
    "partition": ["partition", "s.yaml", "--out", "out/file.png"],
    "schema": ["schema", "--out", "out/file.json"],
    "new": ["new", "out/file.yaml"],
}
"""Commands that write files which must be whole or not there at all."""
TUNE = ["tune", "s.yaml", "--out", "out/tuning", "--trials", "2", "--objective", "accuracy",
        "-p", "rounds.clients={min: 1, max: 2}", "--executor", "inline", "-q"]  # fmt: skip
FORK = ["fork", "run/default/seed-0", "--at", "100 ms", "--set", "rounds.policy=fedasync",
        "--executor", "inline", "-q", "--no-report"]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run, its scenario, and a pilot's measurements."""
    top = tmp_path_factory.mktemp("made")
    (top / "s.yaml").write_text(Scenario.from_dict(SMALL).to_yaml())
    (top / "pilot.csv").write_text(PILOT)
    out = str(top / "run")
    assert main(["run", str(top / "s.yaml"), "--out", out, "-q", "--no-report"]) == 0
    return top


@pytest.fixture
def fresh(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes the working folder as if nothing had been done in it."""

    def make() -> None:
        monkeypatch.chdir(tmp_path.parent)
        shutil.rmtree(tmp_path)
        shutil.copytree(made, tmp_path)
        monkeypatch.chdir(tmp_path)
        Path("out").mkdir()

    make()
    return make


def held(folder: str = "out") -> dict[str, bytes]:
    """Return what the files below `folder` hold."""
    return {str(path): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def mostly_slow(names: Iterable[str]) -> list[ParameterSet]:
    """Return commands to try; but for two that start soon, only where slow tests are run."""
    return [
        pytest.param(name, marks=[] if name in ("schema", "partition") else [pytest.mark.slow])
        for name in names
    ]


FULL: dict[str, tuple[Callable[[], BaseException], int, str]] = {
    "full": (full, 1, "No space left on device"),
    "interrupted": (KeyboardInterrupt, 130, "interrupted"),
}


@pytest.mark.parametrize("how", FULL)
@pytest.mark.parametrize("name", mostly_slow(FILES))
def test_a_file_is_whole_or_not_there(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, name: str, how: str
) -> None:
    disk = Disk(10**9)
    with disk.installed():
        assert main(FILES[name]) == 0
    whole = held()
    assert disk.writes
    fault, code, words = FULL[how]
    for room in range(-1, disk.writes):
        fresh()
        capsys.readouterr()
        with Disk(room, fault).installed():
            assert main(FILES[name]) == code
        told = capsys.readouterr().err
        assert words in told
        assert "internal error" not in told
        assert held().items() <= whole.items()


@pytest.mark.parametrize("name", mostly_slow([*FILES, "tune"]))
def test_where_nothing_can_be_is_bad_input(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, name: str
) -> None:
    """Below a file; and where a folder stands in a file's place, or a file in a folder's."""
    words = {**FILES, "tune": TUNE}[name]
    Path("file").write_text("mine")
    for place in ("file/", "out/"):
        there = [word.replace("out/", place) for word in words]
        if place == "out/":
            target = Path(next(word for word in words if word.startswith(place)))
            target.mkdir() if target.suffix else target.write_text("mine")
        assert main(there) == 2
        told = capsys.readouterr().err
        assert told.startswith("error: ")
        assert told.count("\n") == 1
        assert "internal" not in told
    assert Path("file").read_text() == "mine"
    assert held() == ({} if target.is_dir() else {str(target): b"mine"})


@pytest.mark.parametrize("name", mostly_slow([*FILES, "tune", "fork"]))
def test_where_nobody_may_write_is_bad_input(
    fresh: Callable[[], None],
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    opened = io.open

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def open_(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        return opened(file, mode, *args, **options) if WRITING.isdisjoint(mode) else refuse()

    for call in ("mkdir", "replace", "unlink"):
        monkeypatch.setattr(os, call, refuse)
    monkeypatch.setattr(io, "open", open_)
    assert main({**FILES, "tune": TUNE, "fork": FORK}[name]) == 2
    told = capsys.readouterr().err
    assert "Read-only file system" in told
    assert "internal" not in told
    assert held() == {}


@pytest.mark.slow
@pytest.mark.parametrize("how", FULL)
def test_a_fork_that_could_not_be_made_is_made_again(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, how: str
) -> None:
    disk, there = Disk(10**9), Path("run/default-fork/seed-0")
    with disk.installed():
        assert main(FORK) == 0
    whole = computed(there)
    fault, code, words = FULL[how]
    for room in range(-1, disk.writes, 1 if SOAKS else 4):
        fresh()
        capsys.readouterr()
        with Disk(room, fault).installed():
            assert main(FORK) == code
        assert words in capsys.readouterr().err
        if is_run(there):
            assert broken(there) == []
            resume(there)
        else:
            assert main(FORK) == 0
        assert computed(there) == whole


@pytest.mark.slow
@pytest.mark.parametrize("how", FULL)
def test_a_tuning_goes_on_where_it_stopped(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, how: str
) -> None:
    disk = Disk(10**9)
    with disk.installed():
        assert main(TUNE) == 0

    def result() -> tuple[bytes, dict[str, dict[str, bytes]]]:
        runs = {str(path): computed(path) for path in Path("out").rglob("seed-*")}
        return Path("out/tuning/trials.csv").read_bytes(), runs

    whole = result()
    fault, code, words = FULL[how]
    for room in range(-1, disk.writes, 1 if SOAKS else 9):
        fresh()
        capsys.readouterr()
        with Disk(room, fault).installed():
            assert main(TUNE) == code
        assert words in capsys.readouterr().err
        assert main(TUNE) == 0
        assert result() == whole


def test_a_run_that_takes_the_place_of_another_is_either(fresh: Callable[[], None]) -> None:
    """At no write does a folder hold one run's scenario beside another's provenance."""
    command = ["run", "s.yaml", "--out", "run", "-q", "--no-report", "--executor", "inline"]
    other = [*command, "--overwrite", "--time-only", "--set", "rounds.clients=3"]
    disk, there = Disk(10**9), Path("run/default/seed-0")
    with disk.installed():
        assert main(other) == 0
    whole = held("run")
    for room in range(-1, disk.writes, 1 if SOAKS else 3):
        fresh()
        with Disk(room).installed():
            assert main(other) == 1
        if is_run(there):
            assert broken(there) == []
            resume(there)
        else:
            assert main(other) == 0
        assert is_finished(there)
        assert (there / "events.jsonl").read_bytes() == whole["run/default/seed-0/events.jsonl"]


READERS = [FORK, ["export"], ["plot", "--out", "p.svg"], ["check"], ["verify"], ["explain"],
           ["compare"], ["resume"]]  # fmt: skip


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_a_run_may_be_reached_by_a_link_and_a_link_in_a_circle_is_told(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, words: list[str]
) -> None:
    command, rest = words[0], [word for word in words[1:] if not word.startswith("run/")]
    Path("link").symlink_to("run/default/seed-0")
    Path("circle").symlink_to("circle")
    assert main([command, "link", *rest]) == 0
    capsys.readouterr()
    assert main([command, "circle", *rest]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "..", "", "=1+1", "<b>", "x\ny", "a" * 300])
def test_no_name_leads_elsewhere(
    fresh: Callable[[], None], capsys: pytest.CaptureFixture, name: str
) -> None:
    before = held(".")
    assert main([*FORK, "--name", name]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert held(".") == before
