"""Models that are linear layers and nothing else, of which much is known without PyTorch."""

import math
from itertools import pairwise

from simfl.components.models.base import Model
from simfl.components.models.logistic_regression import LogisticRegression
from simfl.components.models.mlp import Mlp


def layers_of(model: Model, shape: tuple[int, ...], classes: int) -> list[tuple[int, int]] | None:
    """Return how many inputs and outputs each layer has (None: the model is none of these).

    Nor is one of which some layers are frozen.

    Args:
        model: a user's is looked into by nobody, whatever it is made of.
        shape: of an input; there are no layers where it has no numbers.
        classes: outputs.
    """
    if type(model) not in (LogisticRegression, Mlp) or model.frozen:
        return None
    if not shape or math.prod(shape) < 1:
        return None
    hidden = model.hidden if isinstance(model, Mlp) else ()
    return list(pairwise((math.prod(shape), *hidden, classes)))


def forward_flops(layers: list[tuple[int, int]]) -> int:
    """Return the FLOPs of one sample's forward pass: two a weight."""
    return 2 * sum(inputs * outputs for inputs, outputs in layers)


def training_flops(layers: list[tuple[int, int]]) -> int:
    """Return the FLOPs of training on one sample.

    Two a weight: forward, for its gradient and, but for the first layer, its inputs' gradients.
    """
    return 3 * forward_flops(layers) - forward_flops(layers[:1])
