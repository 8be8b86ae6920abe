from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from simfl.components.models.base import models
from simfl.errors import InputError
from simfl.testing.circumstances import circumstances

MNIST, CIFAR, TEXT = (1, 28, 28), (3, 32, 32), (80,)

# docs/algorithms.md, E: name, options, shape, classes, parameters
PUBLISHED: list[tuple[str, dict[str, Any], tuple[int, ...], int, int]] = [
    ("fedcor_mlp", {}, MNIST, 10, 52_500),
    ("fedcor_cnn", {}, CIFAR, 10, 122_570),
    ("dp3s_cnn", {}, MNIST, 10, 431_080),
    ("fedacs_cnn", {}, CIFAR, 10, 62_006),
    ("fedcore_cnn", {}, MNIST, 10, 1_663_370),
    ("fedcore_lstm", {}, TEXT, 90, 822_570),
    ("logistic_regression", {}, (60,), 10, 610),
]

# Small enough for finite differences; every kind of layer is among them.
SMALL = [
    ("logistic_regression", {}, (4,)),
    ("logistic_regression", {"head": "sigmoid"}, (4,)),
    ("mlp", {"hidden": [5, 4]}, (4,)),
    ("mlp", {"hidden": [5], "activation": "tanh"}, (4,)),
    ("cnn", {"channels": [2, 3], "fc": [4]}, (2, 8, 8)),
    ("cnn", {"channels": [2], "kernel": 2, "padding": "valid", "pool": 1, "fc": []}, (1, 5, 4)),
    ("fedcor_cnn", {}, (1, 22, 22)),
    ("fedacs_cnn", {}, (1, 16, 16)),
    ("dp3s_cnn", {}, (1, 16, 16)),
    ("fedcore_cnn", {}, (1, 4, 4)),
    ("fedcore_lstm", {"hidden": 4, "embedding": 3}, (6,)),
    ("resnet", {"blocks": [1, 1], "channels": 4}, (2, 5, 6)),
    ("resnet", {"blocks": [1], "channels": 4, "stem": "7x7"}, (1, 16, 16)),
]


def parse(name, **options):
    return models.parse({"name": name, **options})


def build(name, shape, classes=10, **options):
    return parse(name, **options).build(shape, classes)


def inputs(name, n, shape, classes, rng, dtype=torch.float32):
    if name == "fedcore_lstm":
        return torch.from_numpy(rng.integers(1, classes, (n, *shape)))
    return torch.from_numpy(rng.standard_normal((n, *shape))).to(dtype)


@pytest.mark.parametrize(("name", "options", "shape", "classes", "parameters"), PUBLISHED)
def test_published_sizes_and_shapes(name, options, shape, classes, parameters):
    module = build(name, shape, classes, **options)
    assert sum(p.numel() for p in module.parameters()) == parameters
    assert list(module.buffers()) == []
    x = inputs(name, 3, shape, classes, np.random.default_rng(0))
    assert module(x).shape == (3, classes)


@pytest.mark.parametrize(("name", "options", "shape"), SMALL)
def test_gradients_agree_with_finite_differences(name, options, shape):
    """Per parameter tensor, along a random direction, in double precision."""
    rng = np.random.default_rng(1)
    torch.manual_seed(0)  # noqa: TID251
    module = build(name, shape, 5, **options).double().eval()
    x = inputs(name, 4, shape, 5, rng, torch.float64)
    y = torch.from_numpy(rng.integers(0, 5, 4))

    def loss():
        return nn.functional.cross_entropy(module(x), y)

    gradients = torch.autograd.grad(loss(), list(module.parameters()))
    for parameter, gradient in zip(module.parameters(), gradients, strict=True):
        direction = torch.from_numpy(rng.standard_normal(parameter.shape))
        if isinstance(module[0], nn.Embedding) and parameter is module[0].weight:
            direction[0] = 0  # the padding stays where it is
        step = 1e-5 * direction / direction.norm()
        with torch.no_grad():
            parameter += step
            above = loss()
            parameter -= 2 * step
            below = loss()
            parameter += step
        expected = (above - below).item()
        found = 2 * (gradient * step).sum().item()
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-14)


@pytest.mark.parametrize("name", ["cnn", "fedcor_cnn", "dp3s_cnn", "fedacs_cnn", "fedcore_cnn"])
@pytest.mark.parametrize("shape", [(784,), (60, 2), (1, 3, 3), (3, 32, 1)])
def test_convolutions_refuse_what_is_no_picture_or_too_small(name, shape):
    module = models.parse({"name": name})
    if name in ("cnn", "fedcore_cnn") and shape == (1, 3, 3):
        shape = (1, 3, 1)  # their padded convolutions take 4 x 4 pixels
    with pytest.raises(InputError) as caught:
        module.build(shape, 10)
    assert str(shape) in str(caught.value)
    assert "(channels, height, width)" in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "least"),
    [("fedcor_cnn", 18), ("dp3s_cnn", 16), ("fedacs_cnn", 16), ("fedcore_cnn", 4), ("cnn", 4)],
)
def test_the_smallest_pictures(name, least):
    module = build(name, (1, least, least))
    assert module(torch.zeros(2, 1, least, least)).shape == (2, 10)
    with pytest.raises(InputError, match=f"of {least} pixels or more"):
        build(name, (1, least - 1, least))


def test_the_lstm_refuses_pictures():
    with pytest.raises(InputError, match=r"\(length,\).*\(1, 28, 28\)"):
        build("fedcore_lstm", MNIST)


def test_the_padding_tokens_embedding_stays_zero():
    module = build("fedcore_lstm", (6,), 12, hidden=4)
    tokens = torch.tensor([[0, 0, 3, 4, 5, 6]])
    nn.functional.cross_entropy(module(tokens), torch.tensor([2])).backward()
    assert not module[0].weight[0].any()
    assert not module[0].weight.grad[0].any()
    assert module[0].weight.grad[3].any()
    free = build("fedcore_lstm", (6,), 12, hidden=4, padding=None)
    assert free[0].weight[0].any()


def test_the_padding_is_a_token_that_there_is():
    facts = circumstances(tokens=True, input_of=lambda: ((6,), 12))
    assert not list(parse("fedcore_lstm", padding=11).objections(facts))
    with pytest.raises(InputError, match="below the number of classes, 12, so `padding` can't be"):
        list(parse("fedcore_lstm", padding=12).objections(facts))
    with pytest.raises(InputError, match="`padding` can't be 12"):
        build("fedcore_lstm", (6,), 12, padding=12)


def test_only_the_last_output_of_the_lstm_counts():
    module = build("fedcore_lstm", (6,), 12, hidden=4)
    lstm = module[1].lstm
    tokens = torch.tensor([[1, 2, 3, 4, 5, 6]])
    every_output, _ = lstm(module[0](tokens))
    torch.testing.assert_close(module(tokens), module[2](every_output[:, 5]))


def test_dropout_of_the_fedcor_mlp_is_an_option():
    assert sum(isinstance(layer, nn.Dropout) for layer in build("fedcor_mlp", MNIST)) == 2
    assert not any(isinstance(layer, nn.Dropout) for layer in build("fedcor_mlp", MNIST, dropout=0))


def test_w2_of_the_benchmarks_is_a_plain_cnn():
    module = build("cnn", MNIST, channels=[32, 64], kernel=3, fc=[128])
    assert sum(p.numel() for p in module.parameters()) == 320 + 18_496 + 401_536 + 1_290
