"""Models are added up on the nodes of a Ray cluster to the bits of one process's sum."""

import os
import signal
import sys

import numpy as np
import pytest

from simfl.core.work import OrderBatch, Plan
from simfl.errors import InputError
from simfl.training.executors import patience
from simfl.training.executors.cluster import worker
from simfl.training.executors.cluster.tasks import RayTasks
from simfl.training.executors.inline import Inline
from simfl.training.executors.ray import Ray
from tests.training.executors.results import ROOT, SIZES, quiet, same_sum, slow, weigh
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task


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
def test_what_a_stopped_worker_should_add_up_another_does(tmp_path, monkeypatch, models_stay):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(ROOT)]))
    monkeypatch.setattr(patience, "LEAST_S", 20.0)
    monkeypatch.setattr(patience, "UNKNOWN_S", 0.0)
    mark, add_up = tmp_path / "mark", worker.add_up

    def stops_once(weights, *models):
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return add_up(weights, *models)

    monkeypatch.setattr(worker, "add_up", stops_once)
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
