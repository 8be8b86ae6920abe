"""Every optimizer and every loss in the lanes of every kernel, against PyTorch's own."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from simfl.components.datasets.clients import Samples
from simfl.components.local_training import LocalTraining
from simfl.components.losses.base import Loss, losses
from simfl.components.losses.binary_cross_entropy import BinaryCrossEntropy
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.losses.mean_squared_error import MeanSquaredError
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.adamw import AdamW
from simfl.components.optimizers.base import Optimizer, optimizers
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.cosine import Cosine
from simfl.core.work import Plan
from simfl.training.evaluate import evaluate
from simfl.training.flat import build, flatten, load
from simfl.training.kernels import LoopKernel, RecordedKernel
from simfl.training.kernels.compiled import compiled_kernel
from simfl.training.measure import measure
from tests.training.learning_stubs import (
    Convolutional,
    FirstRows,
    Logistic,
    Perceptron,
    Residual,
    close,
    initial,
    lanes_of,
    linear_kernel,
    make_orders,
    make_task,
    reference,
    torch_rows,
    train,
)

SIZES = [20, 7, 33, 1, 64]
RAGGED = [1, 2, 7, 8, 9, 16, 17, 33, 63, 64, 65, 100, 3, 129, 5, 70]
MODELS = {
    "compiled": (Convolutional(), (1, 8, 8)),
    "linear": (Perceptron(), (4, 5)),
    "loop": (Convolutional(), (1, 8, 8)),
    "recorded": (Residual(), (20,)),
}
OPTIMIZERS = {
    "heavy": Sgd(lr=0.05, momentum=0.9, weight_decay=1e-2),
    "nesterov": Sgd(lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-2),
    "adam": Adam(lr=0.01),
    "adam decayed": Adam(lr=0.01, betas=(0.8, 0.99), weight_decay=0.1, clip=0.5),
    "adamw": AdamW(lr=0.01, weight_decay=0.5),
}
LOSSES = {
    "smoothed": CrossEntropy(label_smoothing=0.2),
    "squared": MeanSquaredError(),
    "several labels": BinaryCrossEntropy(),
}


def with_targets(task):
    """Return `task` with targets such as its loss takes."""
    takes, data = task.training.loss.takes, task.data
    n = len(data.y)
    if "classes" in takes and "labels" not in takes:
        return task
    rng = np.random.default_rng(5)
    numbers = rng.standard_normal((n, task.classes)).astype(np.float32)
    y = numbers if "numbers" in takes else (numbers > 0).astype(np.float32)
    data = replace(data, samples=Samples(data.samples.x, y))
    return type(task)(task.model, task.shape, task.classes, data, task.training, task.coreset)


def kernel_of(kind, task):
    module = build(task.model, task.shape, task.classes)
    if kind == "compiled":
        return compiled_kernel(module, task.shape)
    if kind == "loop":
        return LoopKernel(module)
    if kind == "recorded":
        return RecordedKernel(module)
    return linear_kernel(module, task.shape)


def assert_equals_torch(kind, training):
    model, shape = MODELS[kind]
    task = with_targets(make_task(model, SIZES, shape, training=training))
    base, orders = initial(task), make_orders(SIZES, Plan(steps=50))
    lanes = lanes_of(task, orders, base)
    progress = kernel_of(kind, task).run(lanes, task.data.x, task.data.y, training)
    for at, order in enumerate(orders):
        params, loss = reference(task, base, order)
        assert close(progress.params[at].numpy(), params)
        assert progress.losses[at] / len(lanes[at].segment.rows) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fifty_steps_of_every_optimizer(kind, name):
    assert_equals_torch(kind, LocalTraining(8, OPTIMIZERS[name], proximal=0.1))


@pytest.mark.parametrize(
    ("kind", "name"),
    [("compiled", "smoothed"), *((kind, name) for kind in list(MODELS)[1:] for name in LOSSES)],
)
@pytest.mark.parametrize("optimizer", [Sgd(lr=0.1), Sgd(lr=0.05, momentum=0.5)], ids=str)
def test_fifty_steps_of_every_loss(kind, name, optimizer):
    assert_equals_torch(kind, LocalTraining(8, optimizer, loss=LOSSES[name]))


def test_corrections_and_clipping_come_before_the_optimizer():
    training = LocalTraining(8, Adam(lr=0.01, clip=0.5), proximal=0.2)
    task = make_task(Perceptron(), SIZES, (4, 5), training=training)
    base, orders = initial(task), make_orders(SIZES)
    rng = np.random.default_rng(0)
    corrections = {o.key: rng.standard_normal(len(base)).astype(np.float32) for o in orders}
    for result in train(task, {0: base}, orders, corrections):
        params, _ = reference(task, base, result.order, correction=corrections[result.order.key])
        assert close(result.params, params)


def test_a_participation_and_a_coreset_begin_with_nothing_remembered():
    training = LocalTraining(8, Adam(lr=0.01))
    task = make_task(Logistic(), [40], training=training, coreset=FirstRows())
    base = initial(task)
    [once] = train(task, {0: base}, make_orders([40], Plan(full_epochs=1)))
    [again] = train(task, {0: base}, make_orders([40], Plan(full_epochs=1)))
    assert once.params.tobytes() == again.params.tobytes()
    [mixed] = train(
        task, {0: base}, make_orders([40], Plan(full_epochs=1, coreset_epochs=2, coreset_size=10))
    )
    [later] = train(
        task, {0: once.params}, make_orders([40], Plan(coreset_epochs=2, coreset_size=10))
    )
    assert close(mixed.params, later.params, 1e-6)


@pytest.mark.parametrize("optimizer", ["nesterov", "adam decayed", "adamw"])
@pytest.mark.parametrize("loss", ["exact", *LOSSES])
@pytest.mark.parametrize("hidden", [(), (33, 16)])
@pytest.mark.parametrize("batch", [1, 10, 16])
def test_company_changes_no_bit(optimizer, loss, hidden, batch):
    objective = LOSSES.get(loss, CrossEntropy())
    training = LocalTraining(batch, OPTIMIZERS[optimizer], Cosine(rounds=9), objective)
    task = with_targets(make_task(Perceptron(hidden=hidden), RAGGED, (17,), 3, training))
    base, orders = {0: initial(task)}, make_orders(RAGGED)
    whole = train(task, base, orders)
    rng = np.random.default_rng(0)
    for picked in ([3], [13], rng.permutation(len(orders)), rng.permutation(len(orders))[:9]):
        for at, result in zip(picked, train(task, base, [orders[i] for i in picked]), strict=True):
            assert result.params.tobytes() == whole[at].params.tobytes()
            assert np.array(result.loss).tobytes() == np.array(whole[at].loss).tobytes()


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_measured_and_judged_is_the_loss(name):
    training = LocalTraining(8, Sgd(), loss=LOSSES[name])
    task = with_targets(make_task(Perceptron(), SIZES, (4, 5), training=training))
    base, data = initial(task), task.data
    module = build(task.model, task.shape, task.classes)
    load(module, base)
    rows = torch_rows(training.loss, module.eval()(data.x), data.y).double()
    found = evaluate(task, base, data.x, data.y)
    assert found.loss == pytest.approx(rows.mean().item(), rel=1e-6)
    assert (found.accuracy is None) == (name == "squared")
    [first] = measure(task, "loss", base, [0])
    assert first == pytest.approx(rows[data.train_rows[0]].mean().item(), rel=1e-6)
    [gradient] = measure(task, "gradient", base, [0])
    mean = torch_rows(training.loss, module(data.x[data.train_rows[0]]), data.y[data.train_rows[0]])
    parts = torch.autograd.grad(mean.mean(), list(module.parameters()))
    assert close(gradient, torch.cat([part.flatten() for part in parts]).numpy())


def test_hits_are_the_likeliest_class_or_the_share_of_right_labels():
    outputs = torch.tensor([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.5]])
    assert CrossEntropy().hits(outputs, torch.tensor([0, 2])).tolist() == [True, False]
    equal = torch.tensor([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])  # the first of them is the answer
    assert CrossEntropy().hits(equal, torch.tensor([1, 2])).tolist() == [True, False]
    labels = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert BinaryCrossEntropy().hits(outputs, labels).tolist() == [2 / 3, 2 / 3]  # to the last bit
    one_output, classes = torch.tensor([[0.3], [-0.2]]), torch.tensor([1, 1])
    assert BinaryCrossEntropy().hits(one_output, classes).tolist() == [1.0, 0.0]


def test_another_optimizer_and_another_loss_are_one_class_each(monkeypatch):
    for registry in (optimizers, losses):  # afterwards nobody knows them
        monkeypatch.setattr(registry, "classes", {n: registry.get(n) for n in registry.names()})

    @optimizers.register("test_bounded")
    class Bounded(Optimizer):
        lr: float = 0.01

        def update(self, params, gradient, rates, memory, step):
            params.addcmul_(gradient / (gradient.abs() + 0.1), rates, value=-1)

    @losses.register("test_absolute")
    class Absolute(Loss):
        takes = ("numbers",)

        def rows(self, outputs, targets):
            return (outputs - targets.reshape(outputs.shape)).abs().mean(-1)

    training = LocalTraining(
        8,
        optimizers.parse({"name": "test_bounded", "lr": 0.02}),
        loss=losses.parse("test_absolute"),
    )
    for kind, (model, shape) in list(MODELS.items())[1:]:  # compiled: only what it has
        task = with_targets(make_task(model, SIZES, shape, training=training))
        orders, base = make_orders(SIZES, Plan(steps=3)), initial(task)
        lanes = lanes_of(task, orders, base)
        progress = kernel_of(kind, task).run(lanes, task.data.x, task.data.y, training)
        for lane, params in zip(lanes, progress.params, strict=True):
            wanted = _bounded_steps(task, base, lane.segment)
            assert np.allclose(params.numpy(), wanted, atol=1e-6)


def _bounded_steps(task, base, segment):
    module = build(task.model, task.shape, task.classes)
    load(module, base)
    for rows in np.split(segment.rows, np.cumsum(segment.sizes)[:-1]):
        error = (module(task.data.x[rows]) - task.data.y[rows]).abs().mean()
        parts = torch.autograd.grad(error, list(module.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(module.parameters(), parts, strict=True):
                parameter.sub_(0.02 * gradient / (gradient.abs() + 0.1))
    return flatten(module)
