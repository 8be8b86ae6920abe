"""A model's outputs read as answers: the likeliest class, or the labels that apply."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.components.losses.base import Loss
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats

Flags = NDArray[np.bool_]


def said(outputs: Floats, targets: NDArray[Any]) -> Flags:
    """Return `(n, c)` which class or which labels the model gives each sample, see `truth`."""
    if targets.ndim == 2:
        return outputs > 0
    if outputs.shape[1] == 1:
        return np.hstack([outputs <= 0, outputs > 0])
    return np.asarray(outputs.argmax(1)[:, None] == np.arange(outputs.shape[1]))


def truth(outputs: Floats, targets: NDArray[Any]) -> Flags:
    """Return `(n, c)` which class or which labels each sample has."""
    if targets.ndim == 2:
        return np.asarray(targets > 0)
    classes = max(outputs.shape[1], 2)
    return np.asarray(targets[:, None] == np.arange(classes))


def no_answers(name: str, circumstances: Circumstances) -> Iterator[str]:
    """Yield why a metric of answers can't be taken, where the loss knows no right ones."""
    loss: Loss = circumstances.training.loss
    if not loss.has_accuracy:
        yield f"metric {name!r} needs right and wrong answers, which loss {loss.name!r} has not"
