import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.models.base import Model
from simfl.components.models.resnet import ResNet
from simfl.training.flat import build, load
from simfl.training.measure import measure
from simfl.training.program import hasten, program_of
from tests.training.learning_stubs import (
    Convolutional,
    Logistic,
    Perceptron,
    Residual,
    close,
    initial,
    make_orders,
    make_task,
    reference,
    stack,
    train,
)


@pytest.mark.parametrize("spoiled", [False, True])
def test_hastened_layers_compute_the_same_bits(spoiled):
    plain, hasty = (stack(Convolutional(), (1, 8, 8), 5, seed=2) for _ in range(2))
    hasten(hasty)
    assert [type(layer) for layer in hasty][1:3] == [nn.MaxPool2d, nn.ReLU]
    assert hasty[2].inplace
    names = [name for name, _ in plain.named_parameters()]
    assert names == [name for name, _ in hasty.named_parameters()]
    x = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    if spoiled:  # ties and windows that are all zero or negative
        x[:3] = 0
        with torch.no_grad():
            for module in (plain, hasty):
                module[0].get_parameter("bias").fill_(-0.01)
    y = torch.arange(6) % 5
    results = []
    for module in (plain, hasty):
        logits = module(x)
        loss = F.cross_entropy(logits, y)
        results.append((logits, *torch.autograd.grad(loss, list(module.parameters()))))
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_a_rectifier_that_something_else_sees_is_left_alone():
    layers = nn.Sequential(nn.Sigmoid(), nn.ReLU(), nn.Tanh(), nn.ReLU(), nn.MaxPool2d(2))
    hasten(layers)
    assert [type(layer) for layer in list(layers)[-2:]] == [nn.MaxPool2d, nn.ReLU]
    assert not layers[1].inplace


def test_a_program_is_built_once_and_knows_its_model():
    task = make_task(Perceptron(), [5])
    assert program_of(task) is program_of(make_task(Perceptron(), [7]))
    assert program_of(task) is not program_of(make_task(Perceptron(hidden=(3,)), [5]))
    assert program_of(make_task(Logistic(), [5])).convex
    assert not program_of(task).convex
    assert program_of(task).stacked
    assert not program_of(make_task(Residual(), [5])).stacked
    assert program_of(make_task(Convolutional(), [5], (1, 8, 8))).channels_last


@pytest.mark.parametrize("channels", [4, 16])
def test_what_onednn_overruns_is_not_channels_last(channels):
    """The gradient of a shortcut of few channels is written past its memory there (issue 6035)."""
    model = ResNet(blocks=(1, 1), channels=channels)
    assert program_of(make_task(model, [5], (2, 6, 6))).channels_last == (channels == 16)


class Watched(nn.Sequential):
    """Uses what comes out of its rectifier twice: pooled, and as it is."""

    def forward(self, x):
        convolution, rectifier, pool = self
        rectified = rectifier(convolution(x))
        return pool(rectified).flatten(1).mean(1, keepdim=True) + rectified.amax((1, 2, 3))[:, None]


class Watching(Model):
    def build(self, shape, classes):
        return nn.Sequential(
            Watched(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2)), nn.Linear(1, classes)
        )


def test_a_sequence_with_a_forward_of_its_own_keeps_the_order_of_its_layers():
    module = program_of(make_task(Watching(), [5], (1, 8, 8))).module
    first = next(module.children())
    assert [type(layer) for layer in first.children()] == [nn.Conv2d, nn.ReLU, nn.MaxPool2d]


class _Tapped(nn.Module):
    """Calls the layers of a sequence singly, and uses what comes out of one of them twice."""

    def __init__(self, width, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 6), nn.ReLU())
        self.head = nn.Linear(6, classes)

    def forward(self, x):
        hidden = self.body[0](x)
        return self.head(self.body[1](hidden) - hidden)


class _Sliced(nn.Module):
    """Takes what comes out of a sequence before its last layer."""

    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(4 * 6 * 6, classes)

    def forward(self, x):
        return self.head(self.body[:2](x).flatten(1))


class Tapped(Model):
    def build(self, shape, classes):
        return _Tapped(shape[0], classes) if len(shape) == 1 else _Sliced(classes)


class Hooked(Model):
    """Remembers what its first layer gave, to add it to what the second makes of it."""

    def build(self, shape, classes):
        seen = []
        first, second = nn.Linear(shape[0], classes), nn.ReLU()
        first.register_forward_hook(lambda _module, _inputs, out: seen.append(out))
        second.register_forward_hook(lambda _module, _inputs, out: out - seen.pop())
        return nn.Sequential(first, second)


@pytest.mark.parametrize(
    ("model", "shape"), [(Tapped(), (20,)), (Tapped(), (1, 8, 8)), (Hooked(), (20,))]
)
def test_a_module_that_looks_into_its_sequences_is_trained_and_judged_as_it_is(model, shape):
    task = make_task(model, [30], shape)
    start, rows = initial(task), task.data.train_rows[0]
    x, y = task.data.x[rows], task.data.y[rows]
    module = build(model, shape, 5)
    load(module, start)
    expected = F.cross_entropy(module(x), y)
    assert measure(task, "loss", start, [0]) == pytest.approx(expected.item(), rel=1e-6)
    gradient = torch.autograd.grad(expected, list(module.parameters()))
    expected_gradient = torch.cat([part.reshape(-1) for part in gradient]).numpy()
    assert measure(task, "gradient", start, [0])[0] == pytest.approx(expected_gradient, abs=1e-6)
    [order] = make_orders([30])
    [trained] = train(task, {0: start}, [order])
    assert close(trained.params, reference(task, start, order)[0])
