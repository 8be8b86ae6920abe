import pytest
import torch
from torch import nn

from simfl.errors import InputError
from simfl.training.linear_calls import last_layer, linear_calls, profile_layer, profile_width

X = torch.zeros(2, 6)


class Backwards(nn.Module):
    """Declares its layers from the last to the first."""

    def __init__(self):
        super().__init__()
        self.out, self.unused, self.hidden = nn.Linear(4, 3), nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        return self.layer(self.layer(x))


def test_layers_are_known_in_the_order_in_which_they_are_called():
    module = Backwards()
    assert linear_calls(module, X) == [module.hidden, module.out]
    assert profile_layer(module, X) is module.hidden
    assert profile_width(module, X) == 4
    assert last_layer(module, X) is module.out


def test_looking_changes_nothing():
    module = Backwards()
    linear_calls(module, X)
    assert module.training
    assert len(linear_calls(module, X)) == 2  # nothing is left behind that would count twice


def test_a_layer_that_is_called_twice():
    module = Twice()
    assert profile_layer(module, X) is module.layer
    with pytest.raises(InputError, match="called once"):
        last_layer(module, X)


def test_models_without_such_layers():
    module = nn.Sequential(nn.Linear(6, 3))
    assert profile_width(module, X) == 0
    with pytest.raises(InputError, match="hidden fully connected layer"):
        profile_layer(module, X)
    with pytest.raises(InputError, match="ends in a linear layer"):
        last_layer(nn.Sequential(nn.ReLU()), X)
