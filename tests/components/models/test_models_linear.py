import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from simfl.components.models.base import models
from simfl.errors import InputError

FUSED = (nn.Flatten, nn.Linear, nn.ReLU, nn.Tanh, nn.Dropout, nn.Sigmoid)


def build(name, shape, classes=10, **options):
    return models.parse({"name": name, **options}).build(shape, classes)


def n_parameters(module):
    return sum(p.numel() for p in module.parameters())


def test_logistic_regression_has_610_parameters_on_synthetic():
    assert n_parameters(build("logistic_regression", (60,))) == 610
    assert n_parameters(build("logistic_regression", (60,), head="sigmoid")) == 610


def test_mlp_has_52500_parameters_on_mnist():
    assert n_parameters(build("mlp", (1, 28, 28), hidden=[64, 30])) == 52_500


def test_mlp_without_hidden_layers_is_logistic_regression():
    assert n_parameters(build("mlp", (60,), hidden=[])) == 610


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("logistic_regression", {}),
        ("logistic_regression", {"head": "sigmoid"}),
        ("mlp", {"dropout": 0.5}),
        ("mlp", {"activation": "tanh"}),
    ],
)
def test_plain_sequences_that_the_fused_kernel_knows(name, options):
    module = build(name, (1, 4, 4), **options)
    assert type(module) is nn.Sequential
    assert all(type(layer) in FUSED for layer in module)
    assert module(torch.zeros(3, 1, 4, 4)).shape == (3, 10)


def test_the_sigmoid_head_cannot_lose_less_than_ln_1_plus_9_over_e():
    module = build("logistic_regression", (10,), head="sigmoid")
    with torch.no_grad():
        module[1].weight.copy_(1e6 * (2 * torch.eye(10) - 1))
        module[1].bias.zero_()
    loss = nn.functional.cross_entropy(module(torch.eye(10)), torch.arange(10))
    assert loss.item() == pytest.approx(np.log(1 + 9 / np.e), abs=1e-6)
    assert round(loss.item(), 4) == 1.4612


def test_initialisation_is_pytorchs():
    module = build("mlp", (100,), hidden=[50])
    for layer in (module[1], module[3]):
        bound = layer.in_features**-0.5
        values = torch.cat([layer.weight.flatten(), layer.bias])
        assert values.abs().max() <= bound
        assert values.abs().max() > 0.95 * bound


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("logistic_regression", {"head": "linear"}),
        ("mlp", {"hidden": [0]}),
        ("mlp", {"dropout": 1}),
        ("mlp", {"activation": "gelu"}),
        ("mlp", {"width": 3}),
        ("mlp", {"hidden": [], "dropout": 0.5}),
        ("cnn", {"fc": [], "dropout": 0.5}),
    ],
)
def test_bad_options_are_refused(name, options):
    with pytest.raises(ValidationError):
        models.get(name)(**options)


@pytest.mark.parametrize("name", ["logistic_regression", "mlp"])
def test_an_input_without_numbers_is_refused(name):
    with pytest.raises(InputError, match=r"\(1, 0, 28\)"):
        build(name, (1, 0, 28))
