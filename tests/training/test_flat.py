import numpy as np
import pytest
import torch
from torch import nn

from simfl.errors import InputError
from simfl.training.flat import (
    Layout,
    build,
    flatten,
    forward_flops,
    initial_params,
    load,
    state_dict,
    training_flops,
)
from tests.training.learning_stubs import Convolutional, Perceptron, Reader

MODELS = [(Perceptron(), (20,)), (Convolutional(), (1, 8, 8)), (Reader(), (6,))]


@pytest.mark.parametrize(("model", "shape"), MODELS)
def test_there_and_back(model, shape):
    module = build(model, shape, 5, seed=3)
    flat = flatten(module)
    assert flat.dtype == np.float32
    assert flat.shape == (Layout.of(module).size,)
    other = build(model, shape, 5, seed=4)
    assert not np.array_equal(flatten(other), flat)
    load(other, flat)
    assert np.array_equal(flatten(other), flat)
    for name, value in state_dict(module, flat).items():
        assert torch.equal(value, module.state_dict()[name])
    lanes = torch.from_numpy(np.stack([flat, 2 * flat]))
    for name, view in Layout.of(module).views(lanes).items():
        assert torch.equal(view[1], 2 * module.get_parameter(name))
        assert view.data_ptr() >= lanes.data_ptr()
        view.zero_()  # a view, not a copy
    assert not lanes.any()


def test_initial_params_are_pytorchs_own_and_follow_from_the_seed():
    before = torch.get_rng_state()
    params = initial_params(Perceptron(), (20,), 5, seed=11)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(11)  # noqa: TID251
    expected = flatten(Perceptron().build((20,), 5))
    assert params.tobytes() == expected.tobytes()
    assert params.tobytes() == initial_params(Perceptron(), (20,), 5, seed=11).tobytes()
    assert params.tobytes() != initial_params(Perceptron(), (20,), 5, seed=2**64 - 1).tobytes()
    assert np.abs(params[: 20 * 16]).max() <= 1 / np.sqrt(20)


def test_buffers_are_refused():
    counting = nn.Linear(2, 3)
    counting.register_buffer("seen", torch.zeros(1))
    with pytest.raises(InputError, match=r"keeps buffers \(0.seen\).*plain attribute"):
        Layout.of(nn.Sequential(counting))
    with pytest.raises(InputError, match=r"keeps buffers \(running_mean, .*only batch norm"):
        Layout.of(nn.InstanceNorm1d(3, track_running_stats=True))
    with pytest.raises(InputError, match="float64"):
        Layout.of(nn.Linear(2, 3).double())
    with pytest.raises(InputError, match="parameter weight is frozen"):
        Layout.of(nn.Linear(2, 3).requires_grad_(False))
    assert Layout.of(nn.GroupNorm(1, 4)).size == 8


def test_flops_are_two_per_weight_and_use():
    mlp = build(Perceptron(hidden=(64, 30)), (784,), 10)
    assert forward_flops(mlp, (784,)) == 2 * (784 * 64 + 64 * 30 + 30 * 10)
    # The first layer needs no gradient of its input.
    assert training_flops(mlp, (784,)) == 2 * (2 * 784 * 64 + 3 * 64 * 30 + 3 * 30 * 10)
    convolution = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1))
    assert forward_flops(convolution, (3, 8, 8)) == 2 * 3 * 4 * 9 * 64
    two = nn.Sequential(convolution[0], nn.Conv2d(4, 2, 1), nn.Flatten())
    first, second = 2 * 3 * 4 * 9 * 64, 2 * 4 * 2 * 64
    assert training_flops(two, (3, 8, 8)) == 2 * first + 3 * second
    reader = build(Reader(), (6,), 5)
    recurrent = 4 * 6 * (4 + 6) + 4 * 6 * (6 + 6)
    assert forward_flops(reader, (6,)) == 2 * 6 * recurrent + 2 * 6 * 5
    assert training_flops(reader, (6,)) == 3 * forward_flops(reader, (6,))
    assert reader.training
