"""Which fully connected layers a model calls, in the order in which it calls them."""

import torch
from torch import nn

from simfl.errors import InputError


def linear_calls(module: nn.Module, x: torch.Tensor) -> list[nn.Linear]:
    """Return the linear layers that `module` calls for inputs `x`, one for each call.

    That is not the order in which they are declared, which is the module's own affair.
    """
    called: list[nn.Linear] = []
    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    handles = [
        layer.register_forward_hook(lambda layer, _inputs, _out: called.append(layer))
        for layer in layers
    ]
    trained = module.training
    try:
        with torch.no_grad():
            module.eval()(x)
    finally:
        module.train(trained)
        for handle in handles:
            handle.remove()
    return called


def last_layer(module: nn.Module, x: torch.Tensor) -> nn.Linear:
    """Return the linear layer that `module` calls last, for inputs `x`.

    Raises:
        InputError: there is none, or it is called more than once.
    """
    calls = linear_calls(module, x)
    if not calls:
        raise InputError("gradient features need a model that ends in a linear layer")
    if calls.count(calls[-1]) > 1:
        raise InputError("gradient features need a last linear layer that is called once")
    return calls[-1]


def profile_layer(module: nn.Module, x: torch.Tensor) -> nn.Linear:
    """Return FC-1: the first linear layer that another one follows, for inputs `x`.

    Raises:
        InputError: there is none.
    """
    calls = linear_calls(module, x)
    if len(calls) < 2:
        raise InputError("a profile needs a model with a hidden fully connected layer")
    return calls[0]


def profile_width(module: nn.Module, x: torch.Tensor) -> int:
    """Return how many numbers a profile has: the units of FC-1 (0: there is none)."""
    try:
        return profile_layer(module, x).out_features
    except InputError:
        return 0
