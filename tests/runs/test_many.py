"""Many runs at once: the same bytes as one after the other, whatever ends badly."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.core.machine.processes import portable
from simfl.errors import ComponentError, InputError, NameNotFound, RunError, ScenarioError
from simfl.runs.job import Job, jobs
from simfl.runs.many import Watch, do_all
from simfl.runs.pools.processes import call_all
from simfl.runs.pools.worker import Call, Tell
from simfl.runs.progress import Progress
from simfl.runs.run_jobs import resume_all
from tests.runs.dangerous import die
from tests.tiny import TINY

FILES = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt", "scenario.yaml")
FLAKY = {"name": "on_off", "on": "9 s", "off": "3 s"}
VARIANTS: dict[str, Any] = {
    "oort": {"selection": "oort", "fleet.availability": FLAKY},
    "scaffold": {"aggregation": "scaffold"},
}
TWO = Options(jobs=2)


def scenario(variants: Mapping[str, Any], **changes: Any) -> Scenario:
    overrides = [f"{path}={json.dumps(value)}" for path, value in changes.items()]
    return Scenario.from_dict({**TINY, "variants": variants}, overrides=overrides)


def contents(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.name in FILES
    }


class Notes(Watch):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.processes = 0
        self.last: dict[str, Progress] = {}

    def begin(self, jobs: Sequence[Job], processes: int) -> None:
        self.jobs, self.processes = jobs, processes

    def tell(self, number: int, progress: Progress) -> None:
        self.last[self.jobs[number].title] = progress


def test_two_at_once_give_the_bytes_of_one_after_the_other(tmp_path: Path) -> None:
    notes = {1: Notes(), 2: Notes()}
    for count, watch in notes.items():
        options = Options(jobs=count)
        results = run(scenario(VARIANTS), tmp_path / f"{count}", options, seeds=[0, 1], watch=watch)
        assert [result.folder.name for result in results] == ["seed-0", "seed-1"] * 2
        assert watch.processes == count
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert len(contents(tmp_path / "1")) == 4 * len(FILES)
    for title, progress in notes[1].last.items():
        other = notes[2].last[title]
        assert progress.ended
        assert other.ended
        assert (progress.time_s, progress.round, progress.accuracy) == (
            other.time_s, other.round, other.accuracy
        )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is shared")
def test_a_data_set_that_runs_share_is_loaded_once_and_they_have_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simfl.build.shared_data.SHARED_BYTES", 1)
    told = tmp_path / "told"
    whole = scenario(
        {},
        **{"data.dataset": {"name": "tests.counted_data:Counted", "told": str(told)}},
        **{"model": "logistic_regression", "rounds.stop.rounds": 1},
        **{"evaluation.on": "train", "data.local_validation": 0.2},
    )
    loads = []
    for count in (1, 2):
        run(whole, tmp_path / f"{count}", Options(jobs=count), seeds=[0, 1])
        loads.append(len(told.read_text().split()))
        told.unlink()
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert len(contents(tmp_path / "2")) == 2 * len(FILES)
    assert loads == [2, 1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_last_variant_can_not_be_is_told_before_the_first_is_run(
    tmp_path: Path, jobs: int
) -> None:
    """How fast devices are shows when the fleet is drawn."""
    policy = {"name": "synchronous", "deadline": "1 ms"}
    late = {"rounds.policy": policy, "rounds.stop": {"rounds": None, "accuracy": "99%"}}
    whole = scenario({"good": {}, "too": {"rounds.clients": 3}, "late": late})
    with pytest.raises(InputError, match="no device is ever done within"):
        run(whole, tmp_path / "out", Options(jobs=jobs), seeds=[0, 1])
    assert not (tmp_path / "out").exists()


def test_what_is_done_in_no_time_needs_no_process(tmp_path: Path) -> None:
    notes = Notes()
    run(scenario(VARIANTS), tmp_path, watch=notes)
    assert notes.processes == 1
    assert {progress.round for progress in notes.last.values()} == {4}


@pytest.mark.parametrize("what", [pytest.param("raise", marks=pytest.mark.slow), "kill"])
def test_the_others_are_finished_and_a_failed_run_is_resumed(tmp_path: Path, what: str) -> None:
    danger = tmp_path / "danger"
    selection = {"name": "tests.runs.dangerous:Dangerous", "danger": str(danger)}
    whole = scenario({"bad": {"selection": selection}, "good": {}, "too": {"rounds.clients": 3}})
    run(whole, tmp_path / "expected", Options(jobs=1))
    danger.write_text(what)
    message = "killed by signal 9" if what == "kill" else "LookupError: raise"
    with pytest.raises(RunError if what == "kill" else ComponentError, match=message) as caught:
        run(whole, tmp_path / "out", TWO)
    assert f"simfl resume {tmp_path}/out/bad/seed-0" in str(caught.value)
    assert {path.parts[-3] for path in tmp_path.glob("out/*/*/summary.json")} == {"good", "too"}
    danger.unlink()
    run(whole, tmp_path / "out", TWO, go_on=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


def test_a_process_that_dies_before_its_run_began_leaves_nothing_to_resume(tmp_path: Path) -> None:
    """It was told that `simfl resume` goes on from the last checkpoint."""
    todo = jobs(scenario({}), tmp_path, [0, 1])
    with pytest.raises(
        RunError, match=r"killed by signal 9, .*, before the run began; .*go_on=True, makes it$"
    ):
        do_all(todo, [die, die], Options(jobs=2, time_only=True), None, here=False)


@pytest.mark.slow
def test_several_failures_are_all_told(tmp_path: Path) -> None:
    danger = tmp_path / "danger"
    danger.write_text("ouch")
    selection = {"name": "tests.runs.dangerous:Dangerous", "danger": str(danger)}
    bad = scenario({"a": {"selection": selection}, "b": {"selection": selection}, "c": {}})
    for count in (1, 2):
        with pytest.raises(ComponentError) as caught:
            run(bad, tmp_path / f"{count}", Options(jobs=count))
        assert str(caught.value).startswith("a seed 0, b seed 0: ")
        assert (tmp_path / f"{count}/c/seed-0/summary.json").exists()


def test_what_all_seeds_fail_of_is_told_once(tmp_path: Path) -> None:
    """The error of a user's own selector stood there once a seed, each time with its two lines."""
    danger = tmp_path / "danger"
    danger.write_text("ouch")
    selection = {"name": "tests.runs.dangerous:Dangerous", "danger": str(danger)}
    with pytest.raises(ComponentError) as caught:
        run(scenario({"bad": {"selection": selection}}), tmp_path, Options(jobs=1), seeds=range(5))
    what, where = str(caught.value).splitlines()
    assert what.startswith("bad seed 0, bad seed 1, bad seed 2, ...: selector 'tests.runs.danger")
    assert where.endswith("goes on from the last checkpoint, and so each of these runs")


def test_seeds_that_fail_of_the_same_are_named_unless_all_do(tmp_path: Path) -> None:
    """Which of seven could not deal its samples was not said."""

    def refuse(_: Tell) -> None:
        raise InputError("nothing is left")

    def fine(_: Tell) -> None: ...

    def told(*calls: Call) -> str:
        todo = jobs(scenario({}), tmp_path, list(range(len(calls))))
        with pytest.raises(InputError) as caught:
            do_all(todo, calls, Options(jobs=1, time_only=True), None, here=True)
        return str(caught.value)

    assert told(refuse, refuse) == "nothing is left"
    assert told(refuse, fine, refuse) == "default seed 0, default seed 2: nothing is left"
    assert told(fine, refuse) == "default seed 1: nothing is left"


def test_no_room_for_another_process_is_told() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(RunError, match=r"can't start a worker process.*jobs"):
            call_all([print], [1.0], 1, 1, lambda number, value: None)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_errors_travel() -> None:
    for error in (ScenarioError("a\nb"), ComponentError("c"), ValueError("d")):
        assert (type(portable(error)), str(portable(error))) == (type(error), str(error))
    unknown = NameNotFound("selector", "unifrom", ["uniform"])
    assert type(portable(unknown)) is InputError
    assert str(portable(unknown)) == str(unknown)

    class Local(Exception):
        pass

    assert "Local: told" in str(portable(Local("told")))


SCRIPT = """
import sys
print("running", flush=True)
from pathlib import Path
from simfl import Options, Scenario, run
top = Path(sys.argv[1])
options = Options(jobs=2, executor=sys.argv[2], workers=1 if sys.argv[2] == "processes" else None)
results = run(Scenario.load(top / "s.yaml"), top / "out", options)
print(len(results), flush=True)
"""


@pytest.mark.parametrize("executor", ["auto", pytest.param("processes", marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["file", pytest.param("-c", marks=pytest.mark.slow)])
def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path, how: str, executor: str) -> None:
    (tmp_path / "s.yaml").write_text(scenario(VARIANTS).to_yaml())
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [str(tmp_path / "script.py")] if how == "file" else ["-c", SCRIPT]
    done = subprocess.run(
        [sys.executable, *words, str(tmp_path), executor], capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("running\n2\n", 0), done.stderr
    assert len(list(tmp_path.glob("out/*/*/model.pt"))) == 2


@pytest.mark.slow
def test_a_component_of_the_script_itself_stays_in_its_process(tmp_path: Path) -> None:
    own = """
    from simfl.components.selectors.base import selectors
    from simfl.components.selectors.uniform import Uniform
    @selectors.register("mine")
    class Mine(Uniform):
        pass
    """
    text = scenario(VARIANTS).to_yaml().replace("name: uniform", "name: mine")
    assert "mine" in text
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "script.py").write_text(textwrap.dedent(own) + SCRIPT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path), "auto"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("running\n2\n", 0), done.stderr


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def descendants(pid: int) -> list[int]:
    """Return the processes below `pid`."""
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                children.append(int(path.parent.name))
        except OSError:
            continue
    return children + [inner for child in children for inner in descendants(child)]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Yield a folder for temporary files, whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_command_ends_all_processes_and_leaves_runs_that_resume(
    tmp_path: Path, temporary: Path, ending: signal.Signals
) -> None:
    long = scenario(VARIANTS, **{"rounds.stop.rounds": 300})
    file = tmp_path / "long.yaml"
    file.write_text(long.to_yaml())
    main = "import sys; from simfl.cli import main; sys.exit(main())"
    words = ["run", str(file), "--out", str(tmp_path / "out"), "-q", "--jobs", "2"]
    command = [sys.executable, "-c", main, *words]
    process = subprocess.Popen(
        command,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    until = time.monotonic() + 120
    while time.monotonic() < until:
        tables = list(tmp_path.glob("out/*/*/rounds.csv"))
        if len(tables) == 2 and all(table.read_bytes().count(b"\n") > 9 for table in tables):
            break
        time.sleep(0.05)
    pids = descendants(process.pid)
    assert len(pids) >= 3  # the server and two runs
    # As the terminal does: Ctrl-C reaches the whole group.
    (os.killpg if ending == signal.SIGINT else os.kill)(process.pid, ending)
    assert process.wait(60) == (-ending if ending == signal.SIGKILL else 128 + ending)
    until = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)
    assert not list(temporary.iterdir())
    assert not list(tmp_path.glob("out/*/*/summary.json"))
    run(long, tmp_path / "out", TWO, go_on=True)
    run(long, tmp_path / "expected", Options(jobs=1))
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


class Stopped(Exception):
    pass


def stop(*_: object, **__: object) -> None:
    raise Stopped


@pytest.mark.parametrize(("device", "processes"), [("cpu", 2), ("cuda", 1)])
def test_runs_on_a_gpu_are_gone_on_with_one_by_one(
    device: str, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simfl.runs.many.cores", lambda: 2)
    long = Scenario.from_dict(TINY | {"rounds": {"clients": 3, "stop": {"rounds": 100_000}}})
    folders = [tmp_path / "default" / f"seed-{seed}" for seed in (0, 1)]
    for seed, folder in enumerate(folders):
        with pytest.raises(Stopped):
            run(long, tmp_path, seeds=[seed], listen=lambda _: [stop])
        provenance = json.loads((folder / "provenance.json").read_text())
        (folder / "provenance.json").write_text(json.dumps(provenance | {"device": device}))
    notes = Notes()
    monkeypatch.setattr(notes, "tell", stop)
    monkeypatch.setattr("simfl.runs.many.call_all", stop)
    with pytest.raises(Stopped):
        resume_all(folders, watch=notes)
    assert notes.processes == processes


def test_runs_of_the_clock_alone_load_pytorch_once_if_at_all(tmp_path: Path) -> None:
    """The server that starts their processes always did, for over a second."""
    file = tmp_path / "s.yaml"
    file.write_text(scenario({"one": {}, "two": {"training.epochs": 2}}).to_yaml())
    words = ["--time-only", "--jobs", "2", "--out", str(tmp_path / "out"), "--no-report"]
    loaded = []
    for model in ("mlp", "cnn"):
        done = subprocess.run(
            [sys.executable, "-m", "simfl", "run", str(file), *words, "--set", f"model={model}"],
            env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        loaded.append(len(re.findall(r"\| +torch$", done.stderr, re.MULTILINE)))
        words.append("--overwrite")
    assert loaded == [0, 1]
