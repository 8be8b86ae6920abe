"""Sums on a GPU are those of `GroupedSum`, to the bit (on a CPU: the same operations)."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from simfl.components.aggregators.weighting import GroupedSum
from simfl.core.work import NO_MODEL, OrderBatch
from simfl.training.executors.gpu_sums import GpuSum, add_up_on_gpu
from simfl.training.executors.inline import Inline
from tests.training.learning_stubs import Perceptron, initial, make_orders, make_task

DEVICES = [
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
    ),
    "cpu",
]
SIZES = [20, 7, 33, 1, 64, 0, 9, 40, 12, 13] * 4


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("terms", [1, 15, 16, 17, 50])
def test_the_same_bits_as_in_numpy(device, terms):
    rng = np.random.default_rng(terms)
    weights = rng.random(terms)
    spread = np.exp2(rng.integers(-140, 120, size=(terms, 5000)))  # numbers of any size
    models = (rng.normal(size=spread.shape) * spread).astype(np.float32)
    models[:, 0] = -0.0
    here, there = GroupedSum(), GpuSum()
    for weight, model in zip(weights.tolist(), models, strict=True):
        here.add(weight, model)
        there.add(weight, torch.from_numpy(model).to(device))
    assert there.is_finite
    found, expected = there.value(), here.value()
    assert found is not None
    assert expected is not None
    assert found.cpu().numpy().tobytes() == expected.tobytes()
    assert found.float().cpu().numpy().tobytes() == expected.astype(np.float32).tobytes()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("at_once", [1, 7, 100])
@pytest.mark.parametrize("nonsense", [(), (0,), (5, 20, 21, 39)])
def test_models_that_stay_there_make_the_model_of_those_that_come_back(device, at_once, nonsense):
    task = replace(make_task(Perceptron(), SIZES, (4, 5)), device=device)
    orders = make_orders(SIZES)
    base = initial(task)
    corrections = {
        order.key: np.full_like(base, np.nan if place in nonsense else 0.0)
        for place, order in enumerate(orders)
    }
    weights = np.arange(1.0, len(orders) + 1)
    batch = OrderBatch({0: base}, orders, corrections)
    executor = Inline()
    executor.start(task)
    results = executor.train(batch)
    found = add_up_on_gpu(task, batch, weights, at_once)
    trained = [place for place in nonsense if SIZES[place]]  # the others return what they were sent
    assert found.discarded == [orders[place].key for place in trained]
    assert [repr(result) for result in found.results] == [
        repr(replace(result, params=NO_MODEL)) for result in results
    ]
    if trained:
        assert found.total is None
    else:
        total = GroupedSum()
        for weight, result in zip(weights, results, strict=True):
            total.add(weight, result.params)
        expected = total.value()
        assert found.total is not None
        assert expected is not None
        assert found.total.tobytes() == expected.astype(np.float32).tobytes()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_keeps_the_model_that_was_added_up_there():
    task = replace(make_task(Perceptron(), SIZES, (4, 5)), device="cuda")
    executor = Inline()
    executor.start(task)
    assert executor.worth_adding_up(1, 4)
    batch = OrderBatch({0: initial(task)}, make_orders(SIZES))
    samples = np.array(SIZES) / sum(SIZES)
    added = executor.add_up(batch, lambda orders: samples[[order.client for order in orders]])
    assert added.total is not None
    model = added.total.astype(np.float32, copy=False)
    assert model is added.total
    again = np.array(model)
    x, y = task.data.x, task.data.y
    assert executor.evaluate(task, model, x, y) == executor.evaluate(task, again, x, y)
    following = OrderBatch({1: model}, [replace(o, base=1) for o in batch.orders])
    copied = OrderBatch({1: again}, following.orders)
    for one, two in zip(executor.train(following), executor.train(copied), strict=True):
        assert one.params.tobytes() == two.params.tobytes()
