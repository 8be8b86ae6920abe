from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.local_training import LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.models.base import Model
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.seeds import generator
from simfl.core.work import Plan, Purpose
from simfl.errors import ComponentError, InputError
from simfl.training import local
from simfl.training.features import sample_features
from simfl.training.flat import build, load
from simfl.training.kernels.stages import dropouts, make_factors, stages_of
from tests.training.learning_stubs import (
    Chained,
    Convolutional,
    Everything,
    FirstRows,
    Logistic,
    Perceptron,
    Reader,
    Residual,
    Scaled,
    close,
    initial,
    make_orders,
    make_task,
    reference,
    train,
)

SIZES = [40, 7, 64, 1, 33, 8, 20]
MODELS = {
    "logistic": (Logistic(), (20,), False),
    "softmax": (Logistic(sigmoid=False), (20,), False),
    "relu": (Perceptron(), (4, 5), False),
    "tanh": (Perceptron(activation="Tanh", bias=False), (20,), False),
    "dropout": (Perceptron(dropout=0.5), (4, 5), False),
    "sigmoid": (Perceptron(activation="Sigmoid"), (20,), False),
    "chained": (Chained(), (20,), False),
    "convolutional": (Convolutional(), (1, 8, 8), False),
    "residual": (Residual(), (20,), False),
    "scaled": (Scaled(), (20,), False),
    "reader": (Reader(), (6,), True),
}
SETTINGS = {
    "plain": LocalTraining(8, Sgd(lr=0.1)),
    "momentum": LocalTraining(8, Sgd(lr=0.05, momentum=0.9)),
    "decay": LocalTraining(8, Sgd(lr=0.1, weight_decay=0.01, momentum=0.5)),
    "proximal": LocalTraining(8, Sgd(lr=0.1), proximal=1.0),
    "clip": LocalTraining(8, Sgd(lr=0.1, clip=0.5, weight_decay=0.001)),
    "schedule": LocalTraining(8, Sgd(lr=0.1), Exponential(decay=0.9, per="epoch"), lr_epochs=10),
    "large batch": LocalTraining(50, Sgd(lr=0.1)),
    "everything": LocalTraining(
        8, Sgd(lr=0.05, momentum=0.5, weight_decay=0.001), Exponential(decay=0.97), proximal=0.3
    ),
    "single": LocalTraining(1, Sgd(lr=0.01)),
}


ORACLE_STEPS = [(480, 64, 3, 24), (600, 64, 3, 30), (400, 50, 5, 40), (500, 50, 5, 50)]


def task_of(name, sizes=SIZES, **options):
    model, shape, tokens = MODELS[name]
    return make_task(model, sizes, shape, tokens=tokens, **options)


COMBINATIONS = [(name, "everything") for name in MODELS if name != "dropout"] + [
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


@pytest.mark.parametrize("rows", [1, 60, 10**9])
@pytest.mark.parametrize("name", ["relu", "residual"])
def test_company_changes_no_bit(name, rows, monkeypatch):
    """As few are trained together as memory has room for what they go through."""
    task = task_of(name)
    orders, bases = make_orders(SIZES), {0: initial(task)}
    together = train(task, bases, orders)
    monkeypatch.setattr(local, "ROWS_AT_ONCE", rows)
    portions = train(task, bases, orders)
    assert [r.order for r in portions] == orders
    assert all(
        a.params.tobytes() == b.params.tobytes() for a, b in zip(together, portions, strict=True)
    )


class Quadratic(Model):
    """One weight w, started at 0, and the loss (w - 1)^2 / 2 in disguise (oracles B.1 and B.2)."""

    def build(self, shape, classes):
        return _Quadratic()


class _Quadratic(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        # Cross-entropy of two logits is log(1 + exp(-z)) for label 0; z is chosen so that this is
        # the quadratic plus ln 2, which keeps the argument of the inner logarithm positive.
        wanted = (self.w - 1) ** 2 / 2 + np.log(2)
        z = -torch.log(torch.expm1(wanted)).expand(len(x))
        return torch.stack([z, torch.zeros_like(z)], 1)


def walk(steps, momentum=0.0, proximal=0.0, **options):
    """Return w after so many steps from 0 with learning rate 0.1."""
    training = LocalTraining(4, Sgd(lr=0.1, momentum=momentum, **options), proximal=proximal)
    task = make_task(Quadratic(), [4], (1,), classes=2, training=training)
    task.data.y.zero_()
    (result,) = train(task, {0: np.zeros(1, np.float32)}, make_orders([4], Plan(steps=steps)))
    return result.params[0]


def test_oracles_of_sgd_and_the_proximal_term():
    assert walk(1) == pytest.approx(0.1, rel=1e-6)
    assert walk(2, momentum=0.5) == pytest.approx(0.24, rel=1e-6)
    assert walk(1, proximal=1.0) == pytest.approx(0.1, rel=1e-6)
    assert walk(2, proximal=1.0) == pytest.approx(0.18, rel=1e-6)
    assert walk(2, proximal=0.0) == walk(2) == pytest.approx(0.19, rel=1e-6)
    assert abs(walk(50, proximal=9.0)) < abs(walk(50, proximal=3.0)) < 0.3 < walk(50)
    assert walk(1, clip=0.25) == pytest.approx(0.025, rel=1e-5)


@pytest.mark.parametrize(("n", "batch", "epochs", "steps"), ORACLE_STEPS)
def test_short_last_batch_is_kept(n, batch, epochs, steps):
    task = make_task(Logistic(), [n], training=LocalTraining(batch, Sgd(lr=0.01)))
    (result,) = train(task, {0: initial(task)}, make_orders([n], Plan(full_epochs=epochs)))
    assert result.steps == steps


def test_client_without_samples_and_orders_without_steps():
    task = task_of("relu", [0, 5])
    base = initial(task)
    orders = make_orders([0, 5])
    orders[1] = replace(orders[1], plan=Plan())
    for result in train(task, {0: base}, orders):
        assert np.array_equal(result.params, base)
        assert np.isnan(result.loss)
        assert result.steps == 0
    assert train(task, {0: base}, []) == []


def test_results_keep_the_order_of_the_orders_and_their_own_bases():
    task = task_of("relu")
    bases = {3: initial(task, 1), 7: initial(task, 2)}
    orders = [replace(o, base=(3, 7)[i % 2]) for i, o in enumerate(make_orders(SIZES))][::-1]
    results = train(task, bases, orders)
    assert [result.order for result in results] == orders
    for order, result in zip(orders, results, strict=True):
        assert close(result.params, reference(task, bases[order.base], order)[0])


@pytest.mark.parametrize("name", ["logistic", "dropout", "convolutional"])
@pytest.mark.parametrize(
    "plan",
    [
        Plan(full_epochs=3),
        Plan(steps=11),
        Plan(full_epochs=1, coreset_epochs=2, coreset_size=10),
        Plan(coreset_epochs=3, coreset_size=10),
    ],
)
def test_stop_after_k_is_the_model_after_k_steps(name, plan):
    sizes = [20, 13]
    task = task_of(name, sizes, coreset=FirstRows())
    base, orders = initial(task), make_orders(sizes, plan)
    steps = plan.n_steps(20, 8)
    path = [
        train(task, {0: base}, [replace(o, plan=replace(plan, stop_after=k)) for o in orders])
        for k in range(steps + 1)
    ]
    # Each model is one SGD step away from the one before, the last is the whole result ...
    whole = train(task, {0: base}, orders)
    for one, other in zip(path[-1], whole, strict=True):
        assert one.params.tobytes() == other.params.tobytes()
        assert one.loss == other.loss
    for k, results in enumerate(path):
        assert results[0].steps == k
        assert results[0].params.tobytes() != path[k - 1][0].params.tobytes()
    # ... and without dropout the first k steps are those of plain SGD on the same batches.
    if name != "dropout":
        for result in path[2]:
            if result.steps == 2 and plan.coreset_size == 0:
                assert close(result.params, reference(task, base, result.order)[0])


def test_steps_draw_cyclically_from_reshuffled_passes():
    task = task_of("relu", [20])
    base = initial(task)
    (six,) = train(task, {0: base}, make_orders([20], Plan(steps=6)))
    (two_passes,) = train(task, {0: base}, make_orders([20], Plan(full_epochs=2)))
    assert six.params.tobytes() == two_passes.params.tobytes()
    (five,) = train(task, {0: base}, make_orders([20], Plan(steps=5)))
    assert five.steps == 5
    assert close(five.params, reference(task, base, five.order)[0])


def test_dropout_masks_follow_from_the_seed_alone():
    task = task_of("dropout")
    base, orders = initial(task), make_orders(SIZES)
    first, again = train(task, {0: base}, orders), train(task, {0: base}, orders)
    other = train(task, {0: base}, [replace(order, seed=order.seed + 1) for order in orders])
    torch.rand(5)  # the global generator plays no part
    for one, two, three in zip(first, again, other, strict=True):
        assert one.params.tobytes() == two.params.tobytes()
        assert one.params.tobytes() != three.params.tobytes()


def test_dropout_leaves_out_the_right_share():
    stages = stages_of(Perceptron(dropout=0.3).build((20,), 5), (20,))
    layers = dropouts(stages or [])
    assert layers == [(16, 0.3), (12, 0.3)]
    masks = np.random.default_rng(0).random((400, 16 + 12), dtype=np.float32)
    make_factors(masks, layers)
    assert np.mean(masks == 0) == pytest.approx(0.3, abs=0.02)
    assert np.unique(masks) == pytest.approx([0, 1 / 0.7])


@pytest.mark.parametrize("name", ["relu", "convolutional", "reader"])
def test_training_leaves_the_global_generator_alone(name):
    task = task_of(name, [9])
    base = initial(task)
    before = torch.get_rng_state()
    train(task, {0: base}, make_orders([9]))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", ["relu", "tanh", "convolutional"])
@pytest.mark.parametrize("full_epochs", [0, 1])
def test_coreset_epochs_equal_weighted_sgd(name, full_epochs):
    training = LocalTraining(
        8, Sgd(lr=0.05, momentum=0.5), Exponential(decay=0.9, per="epoch"), proximal=0.2
    )
    task = task_of(name, [40, 17], coreset=FirstRows(), training=training)
    base = initial(task)
    plan = Plan(full_epochs=full_epochs, coreset_epochs=3, coreset_size=11)
    for result in train(task, {0: base}, make_orders([40, 17], plan)):
        order, n = result.order, result.samples
        rng = generator(order.seed, Purpose.CORESET)
        chosen = FirstRows().choose(np.zeros((n, 1)), np.zeros(n), 11, rng)
        params, loss = reference(task, base, order, chosen)
        assert close(result.params, params)
        assert result.loss == pytest.approx(loss, rel=1e-5)
        assert result.steps == plan.n_steps(n, 8)


def test_a_coreset_of_everything_is_full_training():
    # In one batch the order of the rows does not matter, and b = m gives weight 1 to each.
    training = LocalTraining(64, Sgd(lr=0.1))
    task = task_of("relu", [30], training=training, coreset=Everything())
    base = initial(task)
    (full,) = train(task, {0: base}, make_orders([30], Plan(full_epochs=4)))
    plan = Plan(full_epochs=1, coreset_epochs=3, coreset_size=30)
    (coreset,) = train(task, {0: base}, make_orders([30], plan))
    assert close(coreset.params - base, full.params - base, 1e-5)
    assert coreset.loss == pytest.approx(full.loss, rel=1e-6)


def test_coreset_features_are_taken_at_the_local_model_in_eval_mode():
    seen = []

    class Spy(Everything):
        def uses(self, convex):
            return "last_layer_gradient"

        def choose(self, features, labels, size, rng):
            seen.append(features)
            return super().choose(features, labels, size, rng)

    task = task_of("dropout", [20], coreset=Spy())
    base = initial(task)
    (epoch,) = train(task, {0: base}, make_orders([20], Plan(full_epochs=1)))
    plan = Plan(full_epochs=1, coreset_epochs=1, coreset_size=20)
    train(task, {0: base}, make_orders([20], plan))
    train(task, {0: base}, make_orders([20], replace(plan, full_epochs=0)))
    rows = task.data.train_rows[0]
    x, y = task.data.x[rows], task.data.y[rows]
    for features, params in zip(seen, (epoch.params, base), strict=True):
        module = build(task.model, task.shape, task.classes).eval()
        load(module, params)
        expected = sample_features("last_layer_gradient", module, CrossEntropy(), x, y)
        assert np.allclose(features, expected, atol=1e-6)


def test_a_coreset_plan_without_a_coreset_method_is_an_error():
    task = task_of("relu", [20])
    plan = Plan(full_epochs=1, coreset_epochs=1, coreset_size=3)
    with pytest.raises(InputError, match="names no coreset method"):
        train(task, {0: initial(task)}, make_orders([20], plan))


@pytest.mark.parametrize("name", ["relu", "convolutional"])
def test_what_is_wanted_besides_is_measured_while_training(name):
    task = task_of(name, [20, 0], wants=("gradient", "squared_loss"))
    base = initial(task)
    one_step = make_orders([20, 0], Plan(steps=1))
    training = LocalTraining(20, Sgd(lr=0.1))
    task = replace(task, training=training)
    result, empty = train(task, {0: base}, one_step)
    # One full-batch step: the update is the gradient at the base, times the rate.
    assert close((base - result.params) / 0.1, result.extras["gradient"], 1e-4)
    rows = task.data.train_rows[0]
    module = build(task.model, task.shape, task.classes)
    load(module, base)
    losses = F.cross_entropy(module.eval()(task.data.x[rows]), task.data.y[rows], reduction="none")
    squares = losses.detach().numpy() ** 2
    assert result.extras["squared_loss"] == pytest.approx(squares.mean(), rel=1e-6)
    assert result.extras["squared_loss"].shape == ()
    assert np.isnan(empty.extras["squared_loss"])
    assert not empty.extras["gradient"].any()
    with pytest.raises(InputError, match="can't measure 'mood'"):
        train(replace(task, wants=("mood",)), {0: base}, one_step)


@pytest.mark.parametrize("name", ["relu", "residual"])
def test_a_client_that_diverges_says_so_and_harms_nobody(name):
    sizes = [30, 20]
    task = task_of(name, sizes, training=LocalTraining(8, Sgd(lr=0.1)))
    base, orders = initial(task), make_orders(sizes, Plan(full_epochs=4))
    (alone,) = train(task, {1: base}, [replace(orders[1], base=1)])
    spoiled, well = train(
        task, {0: np.full_like(base, 1e30), 1: base}, [orders[0], replace(orders[1], base=1)]
    )
    assert not np.isfinite(spoiled.loss)
    assert well.params.tobytes() == alone.params.tobytes()
    assert well.loss == alone.loss


def test_a_measurement_beyond_float32_warns_nobody():
    task = task_of("softmax", [20], wants=("squared_loss",))
    wild = initial(task) * np.float32(1e25)
    (result,) = train(task, {0: wild}, make_orders([20], Plan(steps=1)))
    assert np.isfinite(result.loss)
    assert np.isinf(result.extras["squared_loss"])


@pytest.mark.parametrize(
    ("kept", "weights", "words"),
    [
        ([0, 99], [1.0, 1.0], "distinct places from 0 to 19"),
        ([3, 3], [1.0, 1.0], "distinct places"),
        ([0, 1], [1.0], "2 weights, got 1"),
        ([0, 1], [1.0, -1.0], "weights above 0"),
    ],
)
def test_a_coreset_of_nonsense_is_told(kept, weights, words):
    class Nonsense(Everything):
        def choose(self, features, labels, size, rng):
            return np.array(kept), np.array(weights)

    task = task_of("relu", [20], coreset=Nonsense())
    orders = make_orders([20], Plan(coreset_epochs=1, coreset_size=2))
    with pytest.raises(ComponentError, match=f"choosing a coreset of client 0: .*{words}"):
        train(task, {0: initial(task)}, orders)
