"""The law of kernels: a result has the same bits alone and in any company."""

import numpy as np
import pytest

from simfl.components.local_training import LocalTraining
from simfl.components.models.resnet import ResNet
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.work import Plan
from tests.training.learning_stubs import (
    Chained,
    Convolutional,
    FirstRows,
    Logistic,
    Perceptron,
    Reader,
    Residual,
    initial,
    make_orders,
    make_task,
    train,
)

# Sizes around batch boundaries, ragged, with last batches of one sample.
RAGGED = [1, 2, 7, 8, 9, 16, 17, 33, 63, 64, 65, 100, 3, 129, 5, 70]
SETTINGS = LocalTraining(
    8, Sgd(lr=0.1, momentum=0.9), Exponential(decay=0.9, per="epoch"), proximal=0.1
)


def assert_company_changes_nothing(task, orders, rng, alone=4):
    base = {0: initial(task)}
    whole = train(task, base, orders)

    def same(picked):
        results = train(task, base, [orders[at] for at in picked])
        for at, result in zip(picked, results, strict=True):
            assert result.params.tobytes() == whole[at].params.tobytes(), orders[at]
            assert np.array(result.loss).tobytes() == np.array(whole[at].loss).tobytes()

    for at in rng.choice(len(orders), min(alone, len(orders)), replace=False):
        same([at])
    same(rng.permutation(len(orders)))
    same(rng.permutation(len(orders))[: len(orders) // 2 + 1])


LINEAR = [
    # hidden, activation, dropout, input dimension, classes, batch size
    ((), "ReLU", 0.0, 60, 10, 8),
    ((64, 30), "ReLU", 0.0, 784, 10, 64),
    ((64, 30), "ReLU", 0.5, 784, 10, 64),
    ((33,), "Sigmoid", 0.5, 17, 3, 10),
    ((16, 8), "Sigmoid", 0.0, 5, 2, 1),
    ((100, 3), "Tanh", 0.2, 61, 62, 50),
    ((128,), "Tanh", 0.0, 2, 17, 3),
    ((200,), "ReLU", 0.0, 100, 10, 400),
    ((1,), "ReLU", 0.0, 20, 5, 16),
]


@pytest.mark.parametrize("case", LINEAR, ids=str)
def test_linear_stacks_train_alike_in_any_company(case):
    hidden, activation, dropout, inputs, classes, batch = case
    model = Perceptron(hidden=hidden, activation=activation, dropout=dropout)
    training = LocalTraining(batch, Sgd(lr=0.1, momentum=0.9, weight_decay=1e-3), SETTINGS.schedule)
    task = make_task(model, RAGGED, (inputs,), classes, training)
    assert_company_changes_nothing(task, make_orders(RAGGED), np.random.default_rng(0))


@pytest.mark.parametrize("sigmoid", [True, False])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_logistic_regression_trains_alike_in_any_company(sigmoid, clip):
    training = LocalTraining(8, Sgd(lr=0.03, clip=clip))
    sizes = np.random.default_rng(1).zipf(1.5, 60).clip(1, 300).tolist()
    task = make_task(Logistic(sigmoid=sigmoid), sizes, (60,), 10, training)
    assert_company_changes_nothing(task, make_orders(sizes), np.random.default_rng(0))


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8, 16, 31, 64])
def test_every_number_of_lanes(lanes):
    sizes = [50] * 64
    task = make_task(Perceptron(hidden=(64, 30)), sizes, (784,), 10, LocalTraining(16, Sgd(lr=0.1)))
    base, orders = {0: initial(task)}, make_orders(sizes)
    (alone,) = train(task, base, orders[:1])
    first = train(task, base, orders[:lanes])[0]
    assert alone.params.tobytes() == first.params.tobytes()


@pytest.mark.parametrize(
    ("model", "shape", "tokens"),
    [
        (Chained(), (20,), False),
        (Convolutional(dropout=0.5), (1, 8, 8), False),
        (Convolutional(), (3, 12, 12), False),
        (Residual(), (20,), False),
        (ResNet(blocks=(1, 1), channels=4), (2, 6, 6), False),
        (ResNet(block="bottleneck", blocks=(1,), channels=2), (1, 4, 4), False),
        (Reader(), (6,), True),
    ],
)
def test_other_models_train_alike_in_any_company(model, shape, tokens):
    sizes = RAGGED[:9]
    task = make_task(model, sizes, shape, training=SETTINGS, tokens=tokens)
    assert_company_changes_nothing(task, make_orders(sizes), np.random.default_rng(0), 2)


def test_mixed_plans_and_coresets():
    plans = [
        Plan(full_epochs=2),
        Plan(full_epochs=1, coreset_epochs=2, coreset_size=6),
        Plan(coreset_epochs=2, coreset_size=20),
        Plan(steps=5),
        Plan(full_epochs=3, stop_after=2),
    ]
    for model in (Perceptron(dropout=0.5), Logistic()):
        task = make_task(model, RAGGED, coreset=FirstRows(), wants=("squared_loss",))
        orders = [
            type(order)(order.client, 0, 1 + i % 3, 0, plans[i % len(plans)], order.seed)
            for i, order in enumerate(make_orders(RAGGED))
        ]
        assert_company_changes_nothing(task, orders, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_search_for_counterexamples(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        hidden = tuple(rng.choice([2, 3, 8, 16, 30, 33, 64, 100, 128, 200], rng.integers(0, 3)))
        model = Perceptron(
            hidden=tuple(int(units) for units in hidden),
            activation=str(rng.choice(["ReLU", "Tanh", "Sigmoid"])),
            dropout=float(rng.choice([0, 0.5])),
            dropout_first=bool(rng.integers(2)),
        )
        batch = int(rng.choice([1, 2, 3, 8, 10, 16, 32, 50, 64, 100, 128, 400]))
        inputs, classes = rng.choice([2, 5, 17, 60, 64, 784]), rng.choice([2, 3, 10, 17, 62, 100])
        sizes = rng.integers(1, rng.choice([4, 11, 71, 301]), rng.integers(1, 65)).tolist()
        training = LocalTraining(batch, Sgd(lr=0.05, momentum=float(rng.choice([0, 0.9]))))
        task = make_task(model, sizes, (int(inputs),), int(classes), training)
        assert_company_changes_nothing(task, make_orders(sizes, Plan(full_epochs=1)), rng)
