import numpy as np
import pytest
import torch
from torch import nn

from simfl.errors import InputError
from simfl.training.flat import Layout, build, flatten, initial_params, load
from simfl.training.model_file import state_dict
from tests.training.learning_stubs import Convolutional, Perceptron, Reader, Scaled

MODELS = [(Perceptron(), (20,)), (Scaled(), (20,)), (Convolutional(), (1, 8, 8)), (Reader(), (6,))]


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
    assert Layout.of(nn.GroupNorm(1, 4)).size == 8
