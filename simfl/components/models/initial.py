"""How weights are drawn before training begins; biases stay as PyTorch draws them.

He et al., "Delving Deep into Rectifiers", ICCV 2015 (Kaiming); Glorot & Bengio, "Understanding the
difficulty of training deep feedforward neural networks", AISTATS 2010 (Xavier).
"""

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
    from torch import nn
    from torch.nn import init

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            if how == "kaiming_uniform":
                init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            elif how == "kaiming_normal":
                init.kaiming_normal_(layer.weight, nonlinearity="relu")
            elif how == "xavier_uniform":
                init.xavier_uniform_(layer.weight)
            else:
                init.xavier_normal_(layer.weight)
