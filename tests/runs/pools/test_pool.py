"""Processes that make one call after the other."""

import multiprocessing
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simfl.build.shared_data import DataKey, held
from simfl.core.arguments import called, commanded
from simfl.core.machine.movable import file_of
from simfl.core.machine.processes import begin_thread, started
from simfl.core.machine.shared import Shared
from simfl.errors import RunError
from simfl.runs.pools.processes import call_all
from simfl.runs.pools.worker import Call, Died, Tell, Worker
from tests.counted_data import Counted


def say_who(tell: Tell) -> None:
    tell(os.getpid())


def fail(tell: Tell) -> None:
    tell(os.getpid())
    raise ValueError("no")


def say_what_it_is_called(tell: Tell) -> None:
    tell(called("--out", "out"))


def die(tell: Tell) -> None:
    tell(os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


def call(*calls: Call, at_once: int) -> tuple[list[int], dict[int, Any]]:
    """Return which process made each call, and the failures."""
    told: dict[int, int] = {}
    failures = call_all(calls, [1.0] * len(calls), at_once, at_once, told.__setitem__)
    return [told[number] for number in range(len(calls))], dict(failures)


def test_a_process_makes_one_call_after_the_other() -> None:
    pids, failures = call(say_who, say_who, say_who, at_once=1)
    assert len(set(pids)) == 1
    assert os.getpid() not in pids
    assert not failures


def test_so_many_are_hired_as_work_at_once() -> None:
    pids, failures = call(*[say_who] * 6, at_once=2)
    assert len(set(pids)) == 2
    assert not failures


def test_what_follows_a_failure_is_done_by_somebody_else() -> None:
    pids, failures = call(fail, say_who, die, say_who, at_once=1)
    assert len(set(pids)) == 3
    assert pids[1] == pids[2]
    assert sorted(failures) == [0, 2]
    assert isinstance(failures[0], ValueError)
    assert isinstance(failures[2], Died)


def test_a_process_calls_arguments_as_who_began_it() -> None:
    """A command with several runs at once told them by their names in Python."""
    told: list[str] = []

    def tell(_: int, value: str) -> None:
        told.append(value)

    calls = [say_what_it_is_called] * 2
    with commanded():
        call_all(calls, [1.0] * 2, 1, 1, tell)
    assert told == ["--out", "--out"]
    call_all(calls, [1.0] * 2, 1, 1, tell)
    assert told[2:] == ["out", "out"]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_what_comes_first_is_over_before_all_else(at_once: int) -> None:
    order: list[int] = []

    def tell(number: int, _: Any) -> None:
        order.append(number)

    assert not call_all([say_who] * 6, [0, 0, 1, 9, 2, 3], at_once, at_once, tell, first=2)
    assert set(order[:2]) == {0, 1}
    assert sorted(order) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_where_what_comes_first_fails_nothing_else_is_done(at_once: int) -> None:
    order: list[int] = []

    def tell(number: int, _: Any) -> None:
        order.append(number)

    calls = [say_who, fail, say_who, say_who]
    failures = call_all(calls, [0, 0, 1, 9], at_once, at_once, tell, first=2)
    assert list(failures) == [1]
    assert set(order) == {0, 1}


def test_where_there_is_room_for_one_process_it_does_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hired = 0

    def one_only(*words: Any, **options: Any) -> Any:
        nonlocal hired
        hired += 1
        if hired > 1:
            raise RunError("no room")
        return started(*words, **options)

    monkeypatch.setattr("simfl.runs.pools.worker.started", one_only)
    pids, failures = call(say_who, say_who, say_who, at_once=2)
    assert len(set(pids)) == 1
    assert not failures


def test_a_process_without_room_for_a_thread_ends_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each printed a traceback, on shared machines with a limit on processes (ulimit -u)."""

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(SystemExit, match=r"a process has no room for a thread; .*ulimit -u"):
        begin_thread(print, "never")


def test_a_program_that_was_forked_off_another_starts_its_own() -> None:
    """There were "no child processes", for want of files or processes, it was told."""
    assert call_all([say_who], [0.0], 1, 1, lambda *_: None) == {}  # its server is this one's
    fork = multiprocessing.get_context("fork")
    near, far = fork.Pipe()

    def run() -> None:
        said: list[int] = []
        failures = call_all([say_who], [0.0], 1, 1, lambda _, pid: said.append(pid))
        far.send((dict(failures), len(said)))

    process = fork.Process(target=run)
    process.start()
    far.close()
    assert near.recv() == ({}, 1)
    process.join()
    near.close()


def test_nobody_is_left() -> None:
    pids, _ = call(say_who, say_who, say_who, at_once=2)
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        raise AssertionError(f"{pid} is still there")


def tell_of(key: DataKey, last_words: int, tell: Tell) -> None:
    """Say which file the samples are, if they are shared, then perhaps die."""
    corpus = held(key)
    if corpus is not None:
        x = corpus.train.x
        place = file_of(x.ctypes.data, x.nbytes)
        tell((os.getpid(), float(x.sum()), place and os.fstat(place[0]).st_ino))
        x[:] = 0  # its own from here on
    else:
        tell(None)
    if last_words:
        os.kill(os.getpid(), last_words)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is shared")
def test_processes_have_one_copy_of_samples_however_they_end(tmp_path: Path) -> None:
    """Each read CIFAR-10 itself, and held 740 MB."""
    sets = [Counted(told=tmp_path / name) for name in ("told", "own")]
    key, alone = (DataKey(each, False, None) for each in sets)
    data = [key, key, key, key, alone, None]
    calls = [partial(tell_of, key, signal.SIGKILL if n == 1 else 0) for n in range(len(data))]
    told: dict[int, Any] = {}
    failures = call_all(calls, [*range(9, 3, -1)], 2, 2, told.__setitem__, data=data)
    assert [*failures] == [1]
    sums, files = ({told[n][part] for n in range(4)} for part in (1, 2))
    assert len(files) == len(sums) == 1
    assert None not in files
    assert len({told[n][0] for n in range(4)}) > 1
    assert told[4] is told[5] is None
    assert sets[0].told.read_text() == "loaded\n"
    assert not sets[1].told.exists()


class BrokenOff(Shared):
    def send(self, channel: Any) -> None:
        channel.close()


def test_who_waits_for_samples_of_somebody_who_has_ended_ends_too(tmp_path: Path) -> None:
    """Its thread that listens failed, and the process waited for calls for ever."""
    before = multiprocessing.active_children()
    key = DataKey(Counted(told=tmp_path / "told"), False, None)
    worker = Worker(needs_torch=False)
    worker.begin(0, say_who, (key, BrokenOff(b"", (), ())))
    [process] = (child for child in multiprocessing.active_children() if child not in before)
    process.join(10)
    ended = process.exitcode
    worker.close()
    assert ended == 1
