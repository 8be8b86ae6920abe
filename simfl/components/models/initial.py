"""How weights are drawn before training begins; biases stay as PyTorch draws them.

He et al., "Delving Deep into Rectifiers", ICCV 2015 (Kaiming); Glorot & Bengio, "Understanding the
difficulty of training deep feedforward neural networks", AISTATS 2010 (Xavier).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import nn

Initialisation = Literal[
    "pytorch", "kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal"
]


def initialise(module: "nn.Module", how: Initialisation) -> None:
    """Draw the weights of all convolutions and linear layers anew, in their order.

    Draws from PyTorch's global generator, which the caller has forked.
    """
    if how == "pytorch":
        return
    from torch import Tensor, nn
    from torch.nn import init

    draws: Mapping[str, Callable[[Tensor], Tensor]] = {
        "kaiming_uniform": partial(init.kaiming_uniform_, nonlinearity="relu"),
        "kaiming_normal": partial(init.kaiming_normal_, nonlinearity="relu"),
        "xavier_uniform": init.xavier_uniform_,
        "xavier_normal": init.xavier_normal_,
    }
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            draws[how](layer.weight)
