"""A Ray cluster computes what one process computes, even when it loses a node on the way."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import pytest

from simfl import run
from simfl.components.selectors.base import selectors
from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError, RunError
from simfl.runs.options import Options
from simfl.scenario import Scenario
from simfl.training.executors import patience
from simfl.training.executors.cluster import tasks
from simfl.training.executors.inline import Inline
from simfl.training.executors.ray import Ray
from tests.training.executors.results import ROOT, SIZES, quiet, same, same_sum, slow, weigh
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task


class Patient(Logistic):
    """Says on which node it is built, and there waits, the first time, to be killed."""

    folder: str

    def build(self, shape, classes):
        ray = sys.modules.get("ray")
        if (
            ray
            and ray.is_initialized()
            and ray.get_runtime_context().worker.mode == ray.WORKER_MODE
        ):
            node = Path(self.folder) / ray.get_runtime_context().get_node_id()
            first = not node.exists()
            with node.open("a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(3.0 * first)
        return super().build(shape, classes)


NET = """
from torch import nn

def net(shape, classes):
    return nn.Sequential(nn.Linear(*shape, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, classes))
"""
"""Code beside a scenario, with batch norm."""


TERMINATED = """
import os, signal
from simfl.training.executors.cluster.connection import connect

def heard(number, frame):
    print("heard", number)

signal.signal(signal.SIGTERM, heard)
connect(cpus=1)
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_sigterm_stays_with_whoever_handled_it_before() -> None:
    pytest.importorskip("ray")
    command = [sys.executable, "-c", TERMINATED]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, f"heard {int(signal.SIGTERM)}\n"), ended.stderr


def by_inline(task, bases, orders):
    executor = Inline()
    executor.start(task)
    return executor.train(OrderBatch(bases, orders))


@slow
@quiet
def test_equals_inline_although_a_node_is_killed_at_work(cluster, tmp_path):
    task = make_task(Patient(folder=str(tmp_path)), SIZES)
    bases, orders = {0: initial(task), 1: initial(task, seed=2)}, make_orders(SIZES)
    executor = Ray(address=cluster.address)
    executor.start(task)

    def kill() -> None:
        while len(list(tmp_path.iterdir())) < 2:  # both nodes are at work
            time.sleep(0.05)
        cluster.remove_node(cluster.second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    results = executor.train(OrderBatch(bases, orders))
    killer.join()
    builds = [len(node.read_text().split()) for node in tmp_path.iterdir()]
    assert sorted(builds) == [1, 2]  # the survivor computed both groups
    same(results, by_inline(task, bases, orders))

    later = make_orders(SIZES, Plan(steps=3), base=1)
    same(executor.train(OrderBatch(bases, later)), by_inline(task, bases, later))
    with pytest.raises(InputError, match="names no coreset"):
        executor.train(
            OrderBatch(bases, make_orders(SIZES, Plan(coreset_epochs=1, coreset_size=2)))
        )
    executor.close()


@slow
@quiet
@pytest.mark.parametrize("stay", [False, True])
def test_a_run_that_loses_a_node_ends_with_the_same_digest(cluster, tmp_path, request, stay):
    if stay:
        request.getfixturevalue("models_stay")
    scenario = Scenario.from_dict(
        {
            "name": "ray",
            "data": {"dataset": {"name": "synthetic", "alpha": 1, "beta": 1}},
            "model": "logistic_regression",
            "fleet": {
                "count": 30,
                "compute": {"distribution": "uniform", "min": "5 samples/s", "max": "9 samples/s"},
                "uplink": "1 Mbit/s",
            },
            "training": {"epochs": 2},
            "rounds": {"policy": {"name": "synchronous", "deadline": {"stragglers": "30%"}},
                       "clients": 27 if stay else 10, "stop": {"rounds": 6}},
        }
    )  # fmt: skip

    def listen(job):
        def note(time_s, kind, facts):
            if kind == "selected" and facts["round"] == 3:
                cluster.remove_node(cluster.second, allow_graceful=False)

        return [note]

    options = Options(executor="ray", executor_options={"address": cluster.address})
    spread = run(scenario, tmp_path / "ray", options, listen=listen)[0]
    alone = run(scenario, tmp_path / "inline")[0]
    assert spread.summary == alone.summary
    for name in ("events.jsonl", "rounds.csv", "clients.csv", "model.pt"):
        assert (spread.folder / name).read_bytes() == (alone.folder / name).read_bytes()


@slow
@quiet
def test_variants_and_seeds_run_at_once_into_the_same_folders(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "net_of_ours.py").write_text(NET)
    scenario = Scenario.from_dict(
        {
            "name": "spread",
            "data": {"dataset": "synthetic"},
            "model": "net_of_ours.py:net",
            "fleet": {"count": 30},
            "rounds": {"stop": {"rounds": 2}},
            "variants": {"short": {}, "long": {"training.epochs": 2}},
            "seeds": [0, 1],
        },
        folder=tmp_path / "code",
    )
    options = Options(executor="ray", executor_options={"address": cluster.address})
    spread = run(scenario, Path("spread"), options)
    alone = run(scenario, Path("alone"))
    for one, other in zip(spread, alone, strict=True):
        assert one.folder.relative_to("spread") == other.folder.relative_to("alone")
        assert one.summary == other.summary
    with pytest.raises(InputError, match="power_of_choice"):
        run(
            scenario.model_copy(update={"selection": selectors.get("power_of_choice")()}),
            Path("never"),
            Options(executor="ray", time_only=True),
        )
    assert not Path("never").exists()


@slow
@quiet
def test_several_runs_have_their_samples_loaded_once(cluster, tmp_path, monkeypatch):
    """Each loaded them by itself, however large they were."""
    monkeypatch.setattr("simfl.build.shared_data.SHARED_BYTES", 1)
    told = tmp_path / "told"
    data = {
        "data": {"dataset": {"name": "tests.counted_data:Counted", "told": str(told)}},
        "model": "logistic_regression",
        "fleet": {"count": 4},
        "rounds": {"stop": {"rounds": 1}},
        "seeds": [0, 1, 2],
    }
    options = Options(executor="ray", executor_options={"address": cluster.address})
    spread = run(Scenario.from_dict(data), tmp_path / "spread", options)
    assert told.read_text().split() == ["loaded"]
    alone = run(Scenario.from_dict(data), tmp_path / "alone")
    assert [one.summary for one in spread] == [other.summary for other in alone]


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # nothing is half imported for the next test
    with pytest.raises(InputError, match=r"pip install 'simfl\[ray\]'"):
        Ray().start(make_task(Logistic(), SIZES))


def test_one_that_was_not_started_does_not_train():
    with pytest.raises(RunError, match="not started"):
        Ray().train(OrderBatch({}, []))
    Ray().close()


def in_worker() -> bool:
    ray = sys.modules.get("ray")
    return bool(
        ray and ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE
    )


def equal_inline(executor, task, batch, request, stay):
    """Assert that what comes back, models or only their sum, is what one process computes."""
    inline = Inline()
    inline.start(task)
    if stay:
        request.getfixturevalue("models_stay")
        same_sum(executor.add_up(batch, weigh), inline.add_up(batch, weigh))
    else:
        same(executor.train(batch), inline.train(batch))


class Stopped(Logistic):
    """Stops the worker that builds it, once."""

    mark: str

    def build(self, shape, classes):
        file = Path(self.mark)
        if in_worker() and not file.exists():
            file.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().build(shape, classes)


@slow
@quiet
@pytest.mark.parametrize("stay", [False, True])
def test_what_a_stopped_worker_should_do_another_does(tmp_path, monkeypatch, request, stay):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    paths = [*sys.path, str(ROOT)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setattr(patience, "LEAST_S", 20.0)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0.0)
    task = make_task(Stopped(mark=str(tmp_path / "mark")), SIZES)
    bases, orders = {0: initial(task)}, make_orders(SIZES)
    executor = Ray(workers=2)
    try:
        executor.start(task)
        equal_inline(executor, task, OrderBatch(bases, orders), request, stay)
        assert (tmp_path / "mark").exists()
    finally:
        executor.close()
        ray.shutdown()


class Large(Logistic):
    """Kills the worker that trains more than a few samples at a time, as a full memory does."""

    def build(self, shape, classes):
        if in_worker():
            frame: FrameType | None = inspect.currentframe()
            while frame is not None and "batch" not in frame.f_locals:
                frame = frame.f_back
            if frame is not None and len(frame.f_locals["batch"].orders) > 2:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().build(shape, classes)


@slow
@quiet
@pytest.mark.parametrize("stay", [False, True])
def test_a_group_whose_workers_die_is_tried_in_halves(monkeypatch, request, stay):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(ROOT)]))
    monkeypatch.setattr(tasks, "RETRIES", 0)
    task = make_task(Large(), SIZES)
    bases, orders = {0: initial(task)}, make_orders(SIZES)
    executor = Ray(workers=2)
    try:
        executor.start(task)
        equal_inline(executor, task, OrderBatch(bases, orders), request, stay)
    finally:
        executor.close()
        ray.shutdown()
