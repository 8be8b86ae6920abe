"""One run, one writer."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simfl import Options, Scenario, run
from simfl.errors import InputError
from simfl.runs.folder.lock import LOCK, locked
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from tests.tiny import TINY

HOLD = """
import sys, time
from pathlib import Path
from simfl.runs.folder.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_who_comes_second_is_told_who_is_at_it(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(TINY)
    [job] = jobs(scenario, tmp_path)
    words = f"is being written by process {os.getpid()} on .*, started 20"

    def second(*_: object) -> None:
        for call in (
            lambda: run_one(job, Options()),
            lambda: resume(job.folder),
            lambda: run(scenario, tmp_path),
            lambda: run(scenario, tmp_path, go_on=True),
        ):
            with pytest.raises(InputError, match=words):
                call()
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run_one(job, Options(), [second])
    assert resume(job.folder).summary["rounds"] == 4
    assert not (job.folder / LOCK).exists()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(InputError, match=f"process {process.pid} on "), locked(tmp_path):
            pass
        process.kill()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / LOCK).read_text()


def test_what_others_are_writing_is_not_removed_and_what_the_dead_began_is(tmp_path: Path) -> None:
    """A report that was being written of a run was gone once the run was resumed."""
    [result] = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    (result.folder / "summary.json").unlink()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with subprocess.Popen(["sleep", "60"]) as living:
        names = [f".report.html.{process.pid}.partial" for process in (living, dead)]
        names += [f".summary.json.{os.getpid()}.partial", ".a.partial", ".a.b.partial"]
        names += [f"checkpoint/.state.pt.{process.pid}.partial" for process in (dead, living)]
        (result.folder / "checkpoint").mkdir()
        for name in names:
            (result.folder / name).touch()
        resume(result.folder)
        living.kill()
    left = sorted(path.relative_to(result.folder) for path in result.folder.rglob(".*"))
    assert left == [Path(names[0]), Path(names[-1])]


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"can't make .*file/run"),
        locked(tmp_path / "file/run"),
    ):
        pass


def test_a_folder_that_cannot_be_is_not_said_to_be_written_by_others(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(InputError, match=r"can't make .*circle/default/seed-0: Too many levels"):
        run(Scenario.from_dict(TINY), circle)


def test_a_file_system_without_locks_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On NFS without its lock service the run was "being written by another process"."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    told = r"seed-0 lies on a file system without locks \(No locks available\)"
    for _ in range(2):  # the first leaves its file there
        with pytest.raises(InputError, match=told):
            run(Scenario.from_dict(TINY), tmp_path)


def test_nothing_of_a_study_is_begun_while_somebody_is_at_one_of_its_runs(tmp_path: Path) -> None:
    """Two at the same study would get half of its runs each, and fail both."""
    study = Scenario.from_dict({**TINY, "variants": {"a": {}, "b": {}, "c": {}}})
    with locked(tmp_path / "b" / "seed-0"), pytest.raises(InputError, match="b/seed-0 is being"):
        run(study, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b"]
