"""Whatever computes an order, and in whatever company: equal bytes."""

import os
import signal

import numpy as np
import pytest

from simfl.components.local_training import LocalTraining
from simfl.components.models.resnet import ResNet
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.work import OrderBatch, Plan, WorkOrder, WorkResult
from simfl.training.executors.base import Executor
from simfl.training.executors.inline import Inline
from simfl.training.executors.processes import Processes
from tests.training.learning_stubs import (
    Convolutional,
    FirstRows,
    Logistic,
    Normalised,
    Perceptron,
    Reader,
    initial,
    make_orders,
    make_task,
    worker_pids,
)

SIZES = [40, 7, 0, 64, 1, 33, 8, 20, 90]
MODELS = {
    "logistic": (Logistic(), (20,), False),
    "dropout": (Perceptron(dropout=0.5), (4, 5), False),
    "convolutional": (Convolutional(dropout=0.3), (1, 8, 8), False),
    "reader": (Reader(), (6,), True),
    "residual": (ResNet(blocks=(1, 1), channels=4), (1, 5, 5), False),
    "batch norm": (Normalised(), (1, 8, 8), False),
}
TRAINING = LocalTraining(8, Sgd(lr=0.1, momentum=0.5), Exponential(decay=0.9), proximal=0.1)


class Adversarial(Executor):
    """Computes orders in pieces, shuffled, the last first."""

    seed: int = 0
    _inner: Inline = Inline()

    def start(self, task):
        self._inner.start(task)

    def train(self, batch):
        rng = np.random.default_rng(self.seed)
        found: dict[int, WorkResult] = {}
        n = len(batch.orders)
        pieces = np.array_split(rng.permutation(n), rng.integers(1, n + 1))
        for piece in reversed(pieces):
            if len(piece):
                results = self._inner.train(batch.part(piece))
                found.update(zip(piece.tolist(), results, strict=True))
        return [found[at] for at in range(n)]

    def measure(self, report, params, clients, batch=None, round_=1):
        return self._inner.measure(report, params, clients, batch, round_)


def task_of(name):
    model, shape, tokens = MODELS[name]
    return make_task(
        model,
        SIZES,
        shape,
        tokens=tokens,
        training=TRAINING,
        coreset=FirstRows(),
        wants=("gradient", "squared_loss"),
    )


def mixed_orders() -> list[WorkOrder]:
    plans = [
        Plan(full_epochs=2),
        Plan(full_epochs=1, coreset_epochs=2, coreset_size=6),
        Plan(coreset_epochs=2, coreset_size=3),
        Plan(steps=5),
        Plan(full_epochs=3, stop_after=4),
    ]
    orders = make_orders(SIZES)
    return [
        WorkOrder(o.client, o.issue, 1 + i % 3, i % 2, plans[i % len(plans)], o.seed)
        for i, o in enumerate(orders)
    ]


def same(results, others):
    for one, other in zip(results, others, strict=True):
        assert one.order == other.order
        assert one.params.tobytes() == other.params.tobytes()
        assert np.array([one.loss]).tobytes() == np.array([other.loss]).tobytes()
        assert (one.steps, one.samples) == (other.steps, other.samples)
        assert one.lr_sum == other.lr_sum
        assert one.extras.keys() == other.extras.keys()
        for name, value in one.extras.items():
            assert value.tobytes() == other.extras[name].tobytes()


def run(executor, task, orders, corrections=None):
    executor.start(task)
    try:
        bases = {0: initial(task), 1: initial(task, seed=2)}
        return executor.train(OrderBatch(bases, orders, corrections))
    finally:
        executor.close()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_company_and_order_change_no_bit(name, seed):
    task, orders = task_of(name), mixed_orders()
    same(run(Inline(), task, orders), run(Adversarial(seed=seed), task, orders))


@pytest.mark.parametrize("name", ["dropout", "batch norm"])
def test_two_processes_equal_inline(name):
    task, orders = task_of(name), mixed_orders()
    same(run(Inline(), task, orders), run(Processes(workers=2), task, orders))


@pytest.mark.parametrize(
    "name", ["convolutional", "batch norm", pytest.param("dropout", marks=pytest.mark.slow)]
)
def test_evaluations_are_equal_too(name):
    task = task_of(name)
    other = make_task(MODELS[name][0], [3337], MODELS[name][1], seed=9)
    inline, pair = Inline(), Processes(workers=2)
    pair.start(task)
    try:
        for seed in (1, 2):
            params = initial(task, seed)
            for data in (other.data, task.data, other.data):
                one = inline.evaluate(task, params, data.x, data.y)
                assert one == pair.evaluate(task, params, data.x, data.y)
        os.kill(worker_pids()[1], signal.SIGKILL)  # its part is done here, then it is replaced
        assert one == pair.evaluate(task, params, data.x, data.y)
        bases = {0: initial(task), 1: initial(task, seed=2)}
        results = pair.train(OrderBatch(bases, mixed_orders()))
        again = pair.evaluate(task, params, data.x, data.y)
    finally:
        pair.close()
    assert one == again
    same(run(inline, task, mixed_orders()), results)


@pytest.mark.parametrize(
    "executor",
    [Adversarial(seed=1), Adversarial(seed=2), Processes(workers=2)],
    ids=["shuffled", "in pieces", "processes"],
)
def test_corrections_travel_with_their_orders(executor):
    task, orders = task_of("logistic"), mixed_orders()
    rng, size = np.random.default_rng(0), len(initial(task))
    corrections = {o.key: rng.normal(size=size).astype(np.float32) for o in orders}
    expected = run(Inline(), task, orders, corrections)
    same(expected, run(executor, task, orders, corrections))
    plain = run(Inline(), task, orders)
    for one, other in zip(expected, plain, strict=True):
        assert np.array_equal(one.params, other.params) == (one.steps == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_equal_inline(name, workers):
    task, orders = task_of(name), mixed_orders()
    same(run(Inline(), task, orders), run(Processes(workers=workers), task, orders))
