"""A vector added to every gradient: what SCAFFOLD asks of local training."""

import numpy as np
import pytest
import torch

from simfl.components.aggregators.fedavg import FedAvg
from simfl.components.aggregators.scaffold import Scaffold
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.work import Plan, WorkOrder
from simfl.training.flat import build
from simfl.training.kernels import RecordedKernel
from simfl.training.measure import measure
from tests.training.learning_stubs import (
    Convolutional,
    FirstRows,
    Logistic,
    Perceptron,
    Reader,
    Residual,
    close,
    initial,
    lanes_of,
    make_orders,
    make_task,
    play,
    reference,
    train,
)

SIZES = [40, 7, 64, 1, 33, 8, 20]
MODELS = {
    "logistic": (Logistic(), (20,), False),
    "relu": (Perceptron(), (4, 5), False),
    "no bias": (Perceptron(activation="Tanh", bias=False), (20,), False),
    "odd": (Perceptron(hidden=(33, 3)), (17,), False),
    "convolutional": (Convolutional(), (1, 8, 8), False),
    "residual": (Residual(), (20,), False),
    "reader": (Reader(), (6,), True),
}
SETTINGS = {
    "plain": LocalTraining(8, Sgd(lr=0.1), Exponential(decay=0.9, per="epoch")),
    "everything": LocalTraining(
        8, Sgd(lr=0.05, momentum=0.5, weight_decay=0.001, clip=0.5), proximal=0.3
    ),
}


def some_corrections(task, orders, seed=0):
    rng, size = np.random.default_rng(seed), len(initial(task))
    return {o.key: rng.normal(0, 0.3, size).astype(np.float32) for o in orders}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_equals_torch_sgd_with_a_linear_term(name, settings):
    model, shape, tokens = MODELS[name]
    task = make_task(model, SIZES, shape, training=SETTINGS[settings], tokens=tokens)
    base, orders = initial(task), make_orders(SIZES, Plan(full_epochs=3), round_=2)
    corrections = some_corrections(task, orders)
    for result in train(task, {0: base}, orders, corrections):
        params, loss = reference(task, base, result.order, correction=corrections[result.order.key])
        assert close(result.params, params)
        assert result.loss == pytest.approx(loss, rel=1e-5)


def test_recorded_steps_too():
    training = SETTINGS["plain"]
    task = make_task(Residual(), SIZES, training=training)
    orders = make_orders(SIZES)
    corrections = some_corrections(task, orders)
    kernel = RecordedKernel(build(task.model, task.shape, task.classes))
    lanes = lanes_of(
        task, orders, initial(task), [torch.from_numpy(corrections[o.key]) for o in orders]
    )
    found = kernel.run(lanes, task.data.x, task.data.y, training)
    for result, params in zip(
        train(task, {0: initial(task)}, orders, corrections), found.params, strict=True
    ):
        assert close(params.numpy(), result.params)


@pytest.mark.parametrize("name", MODELS)
def test_company_changes_no_bit(name):
    model, shape, tokens = MODELS[name]
    task = make_task(
        model, SIZES, shape, training=SETTINGS["plain"], tokens=tokens, coreset=FirstRows()
    )
    plans = [
        Plan(full_epochs=2),
        Plan(full_epochs=1, coreset_epochs=2, coreset_size=6),
        Plan(coreset_epochs=2, coreset_size=20),
        Plan(full_epochs=3, stop_after=2),
    ]
    orders = [
        WorkOrder(o.client, 0, 1 + i % 3, 0, plans[i % len(plans)], o.seed)
        for i, o in enumerate(make_orders(SIZES))
    ]
    bases, corrections = {0: initial(task)}, some_corrections(task, orders)
    whole = train(task, bases, orders, corrections)
    rng = np.random.default_rng(0)
    for picked in (*np.arange(len(orders))[:, None], rng.permutation(len(orders))):
        for at, result in zip(
            picked, train(task, bases, [orders[i] for i in picked], corrections), strict=True
        ):
            assert result.params.tobytes() == whole[at].params.tobytes()
            assert result.lr_sum == whole[at].lr_sum


def test_the_sum_of_learning_rates():
    task = make_task(
        Logistic(),
        [20, 0, 9],
        training=LocalTraining(8, Sgd(lr=0.1), Exponential(decay=0.5, per="epoch")),
        coreset=FirstRows(),
    )
    plans = [Plan(full_epochs=1, coreset_epochs=1, coreset_size=9), Plan(1), Plan(2, stop_after=3)]
    orders = [
        WorkOrder(o.client, 0, 1, 0, plan, o.seed)
        for o, plan in zip(make_orders([20, 0, 9]), plans, strict=True)
    ]
    found = [result.lr_sum for result in train(task, {0: initial(task)}, orders)]
    # 3 batches at 0.1 and 2 of the coreset at 0.05; none; 2 batches at 0.1 and one at 0.05.
    assert found == pytest.approx([0.4, 0, 0.25])


# A convex problem whose clients disagree: full batches, so that drift is all there is.
CLIENTS = [30, 20, 25, 15]


@pytest.fixture(scope="module")
def problem():
    """Return a task and the minimum of the mean of the clients' losses."""
    training = LocalTraining(64, Sgd(lr=0.3, weight_decay=0.02))
    task = make_task(Logistic(sigmoid=False), CLIENTS, (6,), 3, training, seed=3)
    for client, rows in enumerate(task.data.train_rows):  # tastes differ
        task.data.y[rows[::2]] = client % 3
    best = initial(task)
    for _ in range(1000):
        best = best - np.float32(0.5) * gradients(task, best).mean(axis=0).astype(np.float32)
    assert np.linalg.norm(gradients(task, best).mean(axis=0)) < 1e-6
    assert np.linalg.norm(gradients(task, best), axis=1).min() > 0.05
    return task, best


def gradients(task, params):
    """Return each client's gradient at `params`, weight decay included."""
    own = measure(task, "gradient", params, list(range(len(CLIENTS))))
    return own + task.training.optimizer.weight_decay * params


def test_with_one_step_scaffold_is_gradient_descent(problem):
    task, _ = problem
    model = initial(task)
    found = play(task, Scaffold(), model, 5, 1)
    for _ in range(5):
        model = model - np.float32(0.3) * gradients(task, model).mean(axis=0).astype(np.float32)
    assert found == pytest.approx(model, rel=1e-4, abs=1e-6)
    assert play(task, FedAvg(weighting="uniform"), initial(task), 5, 1) == pytest.approx(
        found, rel=1e-4, abs=1e-6
    )


def test_scaffold_stays_at_the_optimum_and_fedavg_does_not(problem):
    task, best = problem
    scaffold = Scaffold()
    own = gradients(task, best).astype(np.float32)
    scaffold.load_state_dict(
        {"_control": own.mean(axis=0, dtype=np.float64), "_controls": dict(enumerate(own))}
    )
    assert np.linalg.norm(play(task, scaffold, best, 3, 20) - best) < 1e-5
    drifted = play(task, FedAvg(weighting="uniform"), best, 3, 20)
    assert np.linalg.norm(drifted - best) > 1e-2


@pytest.mark.parametrize("clients", [None, 2])
def test_scaffold_finds_the_optimum_and_fedavg_does_not(problem, clients):
    task, best = problem
    found = play(task, Scaffold(), initial(task), 150, 20, clients)
    assert np.linalg.norm(found - best) < 1e-4
    drifted = play(task, FedAvg(weighting="uniform"), initial(task), 150, 20, clients)
    assert np.linalg.norm(drifted - best) > 1e-2
