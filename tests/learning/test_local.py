import numpy as np
import pytest
from learning_stubs import (
    Convolutional,
    Logistic,
    Perceptron,
    Reader,
    Residual,
    close,
    initial,
    make_orders,
    make_task,
    reference,
)

from simfl.learning.local import train
from simfl.work import LocalTraining, Plan, Schedule

SIZES = [40, 7, 64, 1, 33, 8, 20]
MODELS = {
    "logistic": (Logistic(), (20,), False),
    "softmax": (Logistic(sigmoid=False), (20,), False),
    "relu": (Perceptron(), (4, 5), False),
    "tanh": (Perceptron(activation="Tanh", bias=False), (20,), False),
    "sigmoid": (Perceptron(activation="Sigmoid"), (20,), False),
    "convolutional": (Convolutional(), (1, 8, 8), False),
    "residual": (Residual(), (20,), False),
    "reader": (Reader(), (6,), True),
}
SETTINGS = {
    "plain": LocalTraining(8, Schedule(0.1)),
    "momentum": LocalTraining(8, Schedule(0.05), momentum=0.9),
    "decay": LocalTraining(8, Schedule(0.1), weight_decay=1e-2, momentum=0.5),
    "proximal": LocalTraining(8, Schedule(0.1), proximal=1.0),
    "clip": LocalTraining(8, Schedule(0.1), clip=0.5, weight_decay=1e-3),
    "schedule": LocalTraining(
        8, Schedule(0.1, milestones=(2, 5), factor=0.5, decay=0.9, per="epoch"), lr_epochs=10
    ),
    "large batch": LocalTraining(50, Schedule(0.1)),
    "everything": LocalTraining(
        8, Schedule(0.05, decay=0.97), momentum=0.5, weight_decay=1e-3, proximal=0.3
    ),
    "single": LocalTraining(1, Schedule(0.01)),
}


def task_of(name, sizes=SIZES, **options):
    model, shape, tokens = MODELS[name]
    return make_task(model, sizes, shape, tokens=tokens, **options)


COMBINATIONS = [(name, "everything") for name in MODELS] + [
    (name, settings) for name in ("logistic", "relu", "residual") for settings in SETTINGS
]


@pytest.mark.parametrize(("name", "settings"), COMBINATIONS)
def test_equals_torch_sgd_on_the_same_batches(name, settings):
    training = SETTINGS[settings]
    task = task_of(name, training=training)
    base = initial(task)
    orders = make_orders(SIZES, Plan(full_epochs=7), round_=4)
    for order, result in zip(orders, train(task, {0: base}, orders), strict=True):
        params, loss = reference(task, base, order)
        assert close(result.params - base, params - base, 1e-4)
        assert close(result.params, params)
        assert result.loss == pytest.approx(loss, rel=1e-5)
        assert result.steps == order.plan.n_steps(SIZES[order.client], training.batch_size)
        assert result.samples == SIZES[order.client]
        assert not np.array_equal(result.params, base)
