from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.models.base import Model
from simfl.errors import InputError
from simfl.training import measure as module_under_test
from simfl.training.flat import build, load
from simfl.training.measure import measure
from tests.training.learning_stubs import (
    Convolutional,
    Logistic,
    Perceptron,
    Reader,
    initial,
    make_task,
)

SIZES = [40, 7, 0, 64, 1, 300, 8]
CASES = [
    (Perceptron(dropout=0.5), (4, 5), False),
    (Convolutional(dropout=0.5), (2, 8, 8), False),
    (Logistic(), (20,), False),
    (Reader(), (6,), True),
]


def setup(model, shape, tokens):
    task = make_task(model, SIZES, shape, tokens=tokens)
    data = task.data
    # Some clients keep a validation part, the others measure on what they train on.
    validation = [
        rows[: len(rows) // 3] if i % 2 else rows[:0] for i, rows in enumerate(data.train_rows)
    ]
    task = replace(task, data=replace(data, validation_rows=validation))
    params = initial(task)
    module = build(task.model, task.shape, task.classes).eval()
    load(module, params)
    return task, params, module


@pytest.mark.parametrize(("model", "shape", "tokens"), CASES)
def test_losses_are_means_over_what_is_kept_aside_or_else_over_all(
    model, shape, tokens, monkeypatch
):
    task, params, module = setup(model, shape, tokens)
    clients = [5, 0, 2, 3, 1, 4, 6]
    losses = measure(task, "loss", params, clients)
    for client, loss in zip(clients, losses, strict=True):
        kept = task.data.validation_rows[client]
        rows = kept if len(kept) else task.data.train_rows[client]
        if not len(rows):
            assert np.isnan(loss)
            continue
        with torch.no_grad():
            expected = F.cross_entropy(module(task.data.x[rows]), task.data.y[rows])
        assert loss == pytest.approx(expected.item(), rel=1e-6)
    monkeypatch.setattr(module_under_test, "CLIENTS", 2)  # asked for in portions: the same
    assert measure(task, "loss", params, clients) == pytest.approx(losses, rel=1e-6, nan_ok=True)
    assert measure(task, "loss", params, []).shape == (0,)


@pytest.mark.parametrize(("model", "shape", "tokens"), CASES)
def test_gradients_are_those_of_autograd(model, shape, tokens):
    task, params, module = setup(model, shape, tokens)
    gradients = measure(task, "gradient", params, range(7))
    assert gradients.shape == (7, len(params))
    for client, rows in enumerate(task.data.train_rows):
        if not len(rows):
            assert np.isnan(gradients[client]).all()
            continue
        loss = F.cross_entropy(module(task.data.x[rows]), task.data.y[rows])
        parts = torch.autograd.grad(loss, list(module.parameters()))
        expected = torch.cat([part.reshape(-1) for part in parts]).numpy()
        assert np.allclose(gradients[client], expected, atol=1e-6)


def test_profiles_are_mean_pre_activations_of_the_first_hidden_layer():
    task, params, module = setup(*CASES[0])
    profiles = measure(task, "fc1_profile", params, [3, 5, 2])
    assert profiles.shape == (3, 16)
    for client, profile in zip([3, 5], profiles, strict=False):
        x = task.data.x[task.data.train_rows[client]].flatten(1)
        with torch.no_grad():
            expected = module[1](x).double().mean(0)
        assert profile == pytest.approx(expected.numpy(), abs=1e-6)
        assert (profile < 0).any()  # before the ReLU
    assert np.isnan(profiles[2]).all()
    task, params, _ = setup(*CASES[1])  # convolutional
    assert measure(task, "fc1_profile", params, [0]).shape == (1, 10)


def test_what_can_not_be_measured():
    task, params, _ = setup(*CASES[2])
    with pytest.raises(InputError, match="hidden fully connected layer"):
        measure(task, "fc1_profile", params, [0])
    with pytest.raises(InputError, match="'update' without training"):
        measure(task, "update", params, [0])


class _Idle(nn.Module):
    """Some of its parameters take no part."""

    def __init__(self, width, classes):
        super().__init__()
        self.idle, self.linear = nn.Parameter(torch.zeros(2)), nn.Linear(width, classes)

    def forward(self, x):
        return self.linear(x)


class Idle(Model):
    def build(self, shape, classes):
        return _Idle(shape[0], classes)


def test_the_gradient_of_what_takes_no_part_is_zero():
    task = make_task(Idle(), [30])
    [gradient] = measure(task, "gradient", initial(task), [0])
    assert not gradient[:2].any()
    assert gradient[2:].any()


class _Backwards(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.out, self.hidden = nn.Linear(4, classes), nn.Linear(width, 4)

    def forward(self, x):
        return self.out(self.hidden(x).relu_())


class Backwards(Model):
    def build(self, shape, classes):
        return _Backwards(shape[0], classes)


def test_profiles_are_of_the_layer_that_is_called_first():
    task, params, module = setup(Backwards(), (20,), False)
    profiles = measure(task, "fc1_profile", params, [0])
    with torch.no_grad():
        expected = module.hidden(task.data.x[task.data.train_rows[0]]).mean(0)
    assert profiles[0] == pytest.approx(expected.numpy(), abs=1e-6)
