import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from simfl.core.machine.processes import started
from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError, RunError
from simfl.training.data import Partitioned
from simfl.training.executors import patience, processes
from simfl.training.executors.groups import even_parts, lane_groups, parts_of_sum
from simfl.training.executors.inline import Inline
from simfl.training.executors.processes import Processes
from simfl.training.executors.sharing import pack
from simfl.training.executors.worker import Worker
from tests.training.executors.results import same_sum, weigh
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task, worker_pids

SIZES = [12, 5, 9]


class Fatal(Logistic):
    """Kills the worker that builds it, as often as there are lives in a file."""

    lives: str
    signal: int = signal.SIGKILL

    def build(self, shape, classes):
        file = Path(self.lives)
        if multiprocessing.parent_process() is not None and (left := len(file.read_text())):
            file.write_text("x" * (left - 1))
            os.kill(os.getpid(), self.signal)
        return super().build(shape, classes)


class Alone(Partitioned):
    """Data of which there is no memory for more than one client."""

    most = 1

    def training(self, clients):
        if len(clients) > self.most:
            raise MemoryError("no room")
        return super().training(clients)


class Nobody(Alone):
    most = 0


def cramped(task, kind):
    data = task.data
    return replace(task, data=kind(data.samples, data.train_rows, data.validation_rows))


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_killed_or_stopped_worker_is_replaced_and_its_orders_are_done_again(
    tmp_path, monkeypatch, how
):
    monkeypatch.setattr(patience, "LEAST_S", 0.5 if how == signal.SIGSTOP else 60)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0.03)  # two seconds in all
    lives = tmp_path / "lives"
    lives.write_text("x")
    task = make_task(Fatal(lives=str(lives), signal=how), SIZES)
    base, orders = initial(task), make_orders(SIZES)
    executor = Processes(workers=1)
    executor.start(task)
    [killed] = worker_pids()
    results = executor.train(OrderBatch({0: base}, orders))
    [replacement] = worker_pids()
    assert lives.read_text() == ""
    assert not alive(killed)
    assert alive(replacement)
    inline = Inline()
    inline.start(task)
    for one, other in zip(results, inline.train(OrderBatch({0: base}, orders)), strict=True):
        assert one.params.tobytes() == other.params.tobytes()
    executor.close()
    assert not alive(replacement)
    assert not worker_pids()


def test_a_stopped_worker_is_killed_that_takes_no_more_of_a_model_than_a_socket_holds(monkeypatch):
    monkeypatch.setattr(patience, "LEAST_S", 0.3)
    packed = pack(make_task(Logistic(), SIZES))
    worker = Worker(packed)
    [stopped] = worker_pids()
    os.kill(stopped, signal.SIGSTOP)
    worker.ask(OrderBatch({0: np.zeros(1 << 21, np.float32)}, make_orders(SIZES)), ())
    assert worker.answer() is None
    worker.stop()
    assert not alive(stopped)
    packed.close()


@pytest.mark.parametrize("n", [2, 20, 32, 41])  # of 20 each trains 10, of which 4 are a group
def test_workers_add_large_models_up_to_the_same_bits_even_if_one_dies(tmp_path, monkeypatch, n):
    monkeypatch.setattr(processes, "TRAVEL_BYTES", 1)
    monkeypatch.setattr(Processes, "train", None)  # not all models travel
    lives = tmp_path / "lives"
    lives.write_text("x")
    sizes = [7, 12, 0, 5] * 16
    task = make_task(Fatal(lives=str(lives)), sizes)
    start, executor, inline = initial(task), Processes(workers=2), Inline()
    executor.start(task)
    inline.start(task)
    orders = make_orders(sizes)[:n]
    nothing = {order.key: np.zeros_like(start) for order in orders}
    nonsense = {orders[at].key: start * np.float32(np.nan) for at in (1, 12, 17, 31) if at < n}
    assert executor.worth_adding_up(n, start.nbytes)
    for diverging in ({}, nonsense):
        batch = OrderBatch({0: start}, orders, {**nothing, **diverging})
        same_sum(executor.add_up(batch, weigh), inline.add_up(batch, weigh))
    assert lives.read_text() == ""
    executor.close()


def test_workers_share_the_work_of_a_sum_evenly() -> None:
    """Of 20 models one worker trained 16; all travelled instead, for longer than training took."""
    shared = partial(parts_of_sum, workers=2, group=16, uneven=1.3)
    assert shared([8.0] * 20) == [slice(0, 10), slice(10, 16), slice(16, 20)]
    assert shared([40.0, *[1.0] * 19])[0] == slice(0, 1)
    assert shared([0.0] * 3) == [slice(0, 3)]


@pytest.mark.slow
def test_a_third_death_ends_the_run(tmp_path):
    lives = tmp_path / "lives"
    lives.write_text("xxxxx")
    task = make_task(Fatal(lives=str(lives)), SIZES)
    executor = Processes(workers=1)
    executor.start(task)
    with pytest.raises(RunError, match=r"3 worker processes died.*clients \[2\]"):
        executor.train(OrderBatch({0: initial(task)}, make_orders(SIZES)))
    assert lives.read_text() == "xx"
    executor.close()


def test_errors_come_back_and_versions_are_forgotten():
    task = make_task(Logistic(), SIZES)
    base, orders = initial(task), make_orders(SIZES)
    executor = Processes(workers=1)
    executor.start(task)
    first = executor.train(OrderBatch({0: base}, orders))
    again = executor.train(OrderBatch({1: first[0].params}, make_orders(SIZES, base=1)))
    assert not np.array_equal(first[0].params, again[0].params)
    other = executor.train(OrderBatch({0: first[0].params}, orders))  # another version 0
    assert np.array_equal(other[0].params, again[0].params)
    with pytest.raises(InputError, match="names no coreset"):
        executor.train(
            OrderBatch({0: base}, make_orders(SIZES, Plan(coreset_epochs=1, coreset_size=2)))
        )
    executor.close()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_no_orphans_when_the_parent_is_interrupted_or_killed(tmp_path, ending):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            sys.path.insert(0, sys.argv[1])
            from tests.training.learning_stubs import *
            from simfl.training.executors.processes import Processes

            if __name__ == "__main__":
                task = make_task(Logistic(), [50, 50])
                executor = Processes(workers=2)
                executor.start(task)
                executor.train(OrderBatch({0: initial(task)}, make_orders([50, 50])))
                print(*worker_pids(), flush=True)
                endless = make_orders([50, 50], Plan(full_epochs=10**5))
                executor.train(OrderBatch({0: initial(task)}, endless))
            """
        )
    )
    parent = subprocess.Popen(
        [sys.executable, script, Path(__file__).parents[3]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    time.sleep(0.5)
    # As the terminal does: Ctrl-C reaches the whole group.
    (os.killpg if ending == signal.SIGINT else os.kill)(parent.pid, ending)
    parent.wait(10)
    parent.stdout.close()
    until = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


def test_lane_groups_balance_work_and_keep_every_order():
    rng = np.random.default_rng(0)
    for workers in (1, 2, 3, 8):
        work = rng.exponential(size=20).tolist()
        groups = lane_groups(work, workers)
        assert sorted(i for group in groups for i in group) == list(range(20))
        loads = [sum(work[i] for i in group) for group in groups]
        assert loads == sorted(loads, reverse=True)
        assert max(loads) <= 4 / 3 * max(sum(work) / workers, max(work))  # Graham's bound
    assert lane_groups([1.0], 4) == [[0]]
    assert lane_groups([], 4) == []


def test_even_parts_cover_everything_at_multiples_of_the_unit():
    for n in (0, 1, 999, 1000, 1001, 9999, 10000):
        for workers in (1, 2, 3, 7):
            parts = even_parts(n, workers, 1000)
            assert len(parts) <= workers
            assert [i for part in parts for i in range(n)[part]] == list(range(n))
            assert all(part.start % 1000 == 0 for part in parts)
            sizes = [part.stop - part.start for part in parts]
            assert max(sizes) - min(sizes) <= 1000 + (n % 1000 > 0) * 999


def test_a_worker_stopped_while_it_judges_is_done_without(tmp_path, monkeypatch):
    task = make_task(Logistic(), SIZES)
    base = initial(task)
    inline, executor = Inline(), Processes(workers=2)
    inline.start(task)
    executor.start(task)
    x = torch.randn(3000, *task.shape, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(3000, dtype=torch.int64)
    expected = inline.evaluate(task, base, x, y)
    assert executor.evaluate(task, base, x, y) == expected
    monkeypatch.setattr(patience, "LEAST_S", 0.5)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0.0001)
    os.kill(worker_pids()[1], signal.SIGSTOP)
    assert executor.evaluate(task, base, x, y) == expected
    results = executor.train(OrderBatch({0: base}, make_orders(SIZES)))
    for one, other in zip(
        results, inline.train(OrderBatch({0: base}, make_orders(SIZES))), strict=True
    ):
        assert one.params.tobytes() == other.params.tobytes()
    executor.close()


def test_patience_grows_with_the_work_and_with_what_was_seen():
    limits = patience.Patience()
    assert limits.limit_s(10) == patience.LEAST_S + 10 * patience.UNKNOWN_S
    assert limits.limit_s(10, failures=2) == 4 * limits.limit_s(10)
    limits.learn(100, 5.0)
    limits.learn(100, 1.0)
    limits.learn(0, 9.0)  # nothing to do says nothing
    assert limits.limit_s(10) == patience.LEAST_S + patience.FACTOR * 10 * 0.05


def test_no_room_for_another_worker_is_told():
    task = make_task(Logistic(), SIZES)
    executor = Processes(workers=2)
    executor.start(task)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.kill(worker_pids()[0], signal.SIGKILL)
    base = initial(task)
    os.close(free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(RunError, match=r"can't start a worker process.*ulimit -n"):
            executor.train(OrderBatch({0: base}, make_orders(SIZES)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(executor.train(OrderBatch({0: base}, make_orders(SIZES)))) == 3  # there is again
    executor.close()


def test_where_there_is_room_for_some_workers_only_none_stays(monkeypatch):
    def one_only(*words, **options):
        if worker_pids():
            raise RunError("no room")
        return started(*words, **options)

    monkeypatch.setattr("simfl.training.executors.worker.started", one_only)
    executor = Processes(workers=2)
    with pytest.raises(RunError, match="no room"):
        executor.start(make_task(Logistic(), SIZES))
    executor.close()
    assert worker_pids() == []


@pytest.mark.parametrize("how", ["inline", "processes"])
def test_out_of_memory_is_tried_again_in_halves(how):
    task, alone = make_task(Logistic(), SIZES), Inline()
    base, orders = initial(task), make_orders(SIZES)
    alone.start(task)
    expected = alone.train(OrderBatch({0: base}, orders))
    executor = Inline() if how == "inline" else Processes(workers=1)
    executor.start(cramped(task, Alone))
    for one, other in zip(executor.train(OrderBatch({0: base}, orders)), expected, strict=True):
        assert one.params.tobytes() == other.params.tobytes()
    executor.start(cramped(task, Nobody))
    with pytest.raises(RunError, match="client 0 does not fit into memory"):
        executor.train(OrderBatch({0: base}, orders))
    executor.close()
