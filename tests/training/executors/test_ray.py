"""A Ray cluster computes what one process computes, even when it loses a node on the way."""

import builtins
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from simfl.components.selectors.base import selectors
from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError, RunError
from simfl.runs.options import Options
from simfl.runs.run import run
from simfl.scenario import Scenario
from simfl.training.executors import patience
from simfl.training.executors.inline import Inline
from simfl.training.executors.ray import Ray
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task

ROOT = Path(__file__).parents[3]
SIZES = [40, 7, 0, 64, 1, 33, 8, 20, 90]

slow = pytest.mark.slow
quiet = pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours


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


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one CPU each; `cluster.second` can be killed."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    import ray
    from ray.cluster_utils import Cluster

    paths = [str(ROOT), str(Path(__file__).parent)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    nodes.second = nodes.add_node(**node)
    nodes.wait_for_nodes(60)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def same(results, others):
    for one, other in zip(results, others, strict=True):
        assert one.order == other.order
        assert one.params.tobytes() == other.params.tobytes()
        assert np.array([one.loss]).tobytes() == np.array([other.loss]).tobytes()


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
def test_a_run_that_loses_a_node_ends_with_the_same_digest(cluster, tmp_path):
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
                       "stop": {"rounds": 6}},
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


def test_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_ray(name, *args, **kwargs):
        if name == "ray":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(InputError, match=r"pip install 'simfl\[ray\]'"):
        Ray().start(make_task(Logistic(), SIZES))


def test_not_started():
    with pytest.raises(RunError, match="not started"):
        Ray().train(OrderBatch({}, []))
    Ray().close()


class Stopped(Logistic):
    """Stops the worker that builds it, once."""

    mark: str

    def build(self, shape, classes):
        ray, file = sys.modules.get("ray"), Path(self.mark)
        if (
            ray
            and ray.is_initialized()
            and ray.get_runtime_context().worker.mode == ray.WORKER_MODE
            and not file.exists()
        ):
            file.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().build(shape, classes)


@slow
@quiet
def test_what_a_stopped_worker_should_do_another_does(tmp_path, monkeypatch):
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
        results = executor.train(OrderBatch(bases, orders))
        assert (tmp_path / "mark").exists()
        same(results, by_inline(task, bases, orders))
    finally:
        executor.close()
        ray.shutdown()
