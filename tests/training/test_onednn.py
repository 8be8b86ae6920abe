"""Evaluation's linear layers against PyTorch's own."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from simfl.training.onednn import OneDnnLinear, available, with_onednn

pytestmark = pytest.mark.skipif(not available(), reason="this PyTorch was built without oneDNN")


def stack(bias: bool = True) -> nn.Sequential:
    inner = nn.Sequential(nn.Linear(30, 12, bias=bias), nn.ReLU())
    module = nn.Sequential(nn.Linear(17, 30, bias=bias), nn.ReLU(), inner, nn.Linear(12, 5))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=generator)
    return module


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 17), (100, 17), (4, 9, 17)])
def test_it_computes_the_same(bias: bool, shape: tuple[int, ...]) -> None:
    plain = stack(bias)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(with_onednn(deepcopy(plain))(x), plain(x), rtol=1e-5, atol=1e-4)


def test_every_linear_layer_is_replaced_and_keeps_its_name_and_parameters() -> None:
    plain = stack()
    names, parameters = list(plain.state_dict()), list(plain.parameters())
    fast = with_onednn(plain)
    assert sum(type(layer) is OneDnnLinear for layer in fast.modules()) == 3
    assert not any(type(layer) is nn.Linear for layer in fast.modules())
    assert list(fast.state_dict()) == names
    assert all(a is b for a, b in zip(fast.parameters(), parameters, strict=True))
    assert isinstance(with_onednn(nn.Linear(3, 2)), OneDnnLinear)


def test_gradients_are_those_of_an_ordinary_layer() -> None:
    plain = stack()
    fast = with_onednn(deepcopy(plain))
    x = torch.randn(8, 17, generator=torch.Generator().manual_seed(2))
    for module in (plain, fast):
        module(x).square().sum().backward()
    for a, b in zip(plain.parameters(), fast.parameters(), strict=True):
        assert a.grad is not None
        assert torch.equal(a.grad, b.grad)  # type: ignore[arg-type]
