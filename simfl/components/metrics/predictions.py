"""A model's outputs as predictions: the likeliest class, or the labels that apply."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags, Floats


def predicted_classes(outputs: Floats, targets: NDArray[Any]) -> Flags:
    """Return `(n, c)` which class or which labels the model gives a sample, see `true_classes`."""
    if targets.ndim == 2:
        return outputs > 0
    if outputs.shape[1] == 1:
        return np.hstack([outputs <= 0, outputs > 0])
    return np.asarray(outputs.argmax(1)[:, None] == np.arange(outputs.shape[1]))


def class_scores(outputs: Floats, targets: NDArray[Any]) -> Floats:
    """Return `(n, c)` outputs of every class: of two, where a model has one for the second."""
    two = targets.ndim == 1 and outputs.shape[1] == 1
    return np.hstack([-outputs, outputs]) if two else outputs


def true_classes(outputs: Floats, targets: NDArray[Any]) -> Flags:
    """Return `(n, c)` which class or which labels each sample has."""
    if targets.ndim == 2:
        return np.asarray(targets > 0)
    classes = max(outputs.shape[1], 2)
    return np.asarray(targets[:, None] == np.arange(classes))
