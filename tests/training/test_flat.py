import numpy as np
import pytest
import torch
from torch import nn

from simfl.errors import InputError
from simfl.training.flat import (
    Layout,
    build,
    example_input,
    flatten,
    initial_params,
    load,
    reads_tokens,
    takes_tokens,
)
from simfl.training.model_file import state_dict
from tests.training.learning_stubs import Convolutional, Perceptron, Reader, Scaled

MODELS = [(Perceptron(), (20,)), (Scaled(), (20,)), (Convolutional(), (1, 8, 8)), (Reader(), (6,))]


class Positions(nn.Module):
    """Measurements, each at a place of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.place = nn.Linear(1, 4), nn.Embedding(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = self.place(torch.arange(x.shape[1], device=x.device))
        return (self.value(x.unsqueeze(-1)) + places).mean(1)


class Whole(nn.Module):
    """Makes whole numbers of whatever it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.words(x.long()).mean(1)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tokens_are_what_an_embedding_of_inputs_takes(device: str) -> None:
    with torch.device(device):
        words = nn.Sequential(nn.Embedding(9, 4), nn.Flatten())
        bag, positions = nn.EmbeddingBag(9, 4), Positions()
    assert takes_tokens(words, (6,))
    assert takes_tokens(bag, (6,))
    assert not takes_tokens(positions, (6,))
    assert reads_tokens(words, (6,))
    assert device == "meta" or not reads_tokens(positions, (6,))  # there types are not looked at
    with torch.device(device):
        whole = Whole()
    assert reads_tokens(whole, (6,))  # which was said to take none
    assert not takes_tokens(whole, (6,))
    assert example_input(words, (6,)).dtype == torch.int64
    assert example_input(positions, (6,)).dtype == torch.float32
    assert positions.training


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
