"""A Ray cluster computes what one process computes, even when it loses a node on the way."""

import inspect
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from simfl.components.selectors.base import selectors
from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError, RunError
from simfl.runs.options import Options
from simfl.runs.run import run
from simfl.scenario import Scenario
from simfl.training.executors import base, patience, ray_worker
from simfl.training.executors import ray as ray_executor
from simfl.training.executors.inline import Inline
from simfl.training.executors.ray import Ray
from simfl.training.executors.ray_tasks import RayTasks
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


def weigh(orders):
    return np.arange(1.0, len(orders) + 1)


def same_sum(added, expected):
    assert added.total.tobytes() == expected.total.tobytes()
    assert added.discarded == expected.discarded
    same(added.results, expected.results)


@pytest.fixture
def models_stay(monkeypatch):
    """However small they are, and only a group of them at a time."""
    monkeypatch.setattr(ray_executor, "STAY_BYTES", 0)
    monkeypatch.setattr(base, "ROOM_BYTES", 1)

    def never(self, batch):
        raise AssertionError("models travel")

    monkeypatch.setattr(Ray, "train", never)


@slow
@quiet
def test_sums_are_the_same_although_models_are_lost_on_the_nodes(cluster, monkeypatch, models_stay):
    sizes = SIZES * 4
    task = make_task(Logistic(), sizes, shape=(6000,))  # smaller ones would travel with the answer
    batch = OrderBatch({0: initial(task)}, make_orders(sizes))
    inline, executor = Inline(), Ray(address=cluster.address)
    assert executor.worth_adding_up(3, 1)
    inline.start(task)
    executor.start(task)
    asked, ask_sum = [], RayTasks.ask_sum

    def lose_a_node(self, at, weights, models):
        asked.append(at)
        if len(asked) == 2:  # the second group is trained, and the third is under way
            cluster.remove_node(cluster.second, allow_graceful=False)
        return ask_sum(self, at, weights, models)

    monkeypatch.setattr(RayTasks, "ask_sum", lose_a_node)
    same_sum(executor.add_up(batch, weigh), inline.add_up(batch, weigh))
    assert [len(at) for at in asked] == [16, 16, 4]
    nothing = {order.key: np.zeros_like(initial(task)) for order in batch.orders}
    nonsense = {batch.orders[21].key: initial(task) * np.float32(np.nan)}
    diverging = OrderBatch(batch.bases, batch.orders, {**nothing, **nonsense})
    added = executor.add_up(diverging, weigh)
    same_sum(added, inline.add_up(diverging, weigh))
    assert added.discarded == [batch.orders[21].key]
    orders = make_orders(sizes, Plan(coreset_epochs=1, coreset_size=2))
    with pytest.raises(InputError, match="names no coreset"):
        executor.add_up(OrderBatch(batch.bases, orders), weigh)

    def interrupted(self, at, weights, models):
        raise KeyboardInterrupt

    with monkeypatch.context() as pressed:
        pressed.setattr(RayTasks, "ask_sum", interrupted)
        with pytest.raises(KeyboardInterrupt):  # while the second group is trained
            executor.add_up(batch, weigh)
    same_sum(executor.add_up(batch, weigh), inline.add_up(batch, weigh))
    executor.close()


@slow
@quiet
def test_models_stay_where_that_pays_and_there_is_room(cluster):
    executor, large = Ray(address=cluster.address), 5 * 10**6
    executor.start(make_task(Logistic(), SIZES))
    assert executor.worth_adding_up(30, large)
    assert not executor.worth_adding_up(45, large)  # more than 200 MiB
    assert not executor.worth_adding_up(2, large)
    assert not executor.worth_adding_up(30, large // 2)
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


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # nothing is half imported for the next test
    with pytest.raises(InputError, match=r"pip install 'simfl\[ray\]'"):
        Ray().start(make_task(Logistic(), SIZES))


def test_not_started():
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


@slow
@quiet
def test_what_a_stopped_worker_should_add_up_another_does(tmp_path, monkeypatch, models_stay):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(ROOT)]))
    monkeypatch.setattr(patience, "LEAST_S", 20.0)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0.0)
    mark, add_up = tmp_path / "mark", ray_worker.add_up

    def stops_once(weights, *models):
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return add_up(weights, *models)

    monkeypatch.setattr(ray_worker, "add_up", stops_once)
    task = make_task(Logistic(), SIZES)
    batch = OrderBatch({0: initial(task)}, make_orders(SIZES))
    inline, executor = Inline(), Ray(workers=2)
    try:
        inline.start(task)
        executor.start(task)
        same_sum(executor.add_up(batch, weigh), inline.add_up(batch, weigh))
        assert mark.exists()
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
    monkeypatch.setattr(ray_executor, "RETRIES", 0)
    task = make_task(Large(), SIZES)
    bases, orders = {0: initial(task)}, make_orders(SIZES)
    executor = Ray(workers=2)
    try:
        executor.start(task)
        equal_inline(executor, task, OrderBatch(bases, orders), request, stay)
    finally:
        executor.close()
        ray.shutdown()
