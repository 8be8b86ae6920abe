"""From labels as they are read to what is learned: classes, several labels, or numbers."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.components.data_targets import Targets
from simfl.components.datasets.own.rows import Rows
from simfl.errors import InputError

ENOUGH = 20
"""Samples from which on classes of one sample each are no small classes, but none."""


def as_targets(rows: Rows, learn: Targets, source: Path) -> tuple[NDArray[Any], int]:
    """Return `(n, ...)` targets as they are trained on, and how many classes or numbers.

    Raises:
        InputError: the labels are not what there is to `learn`; the message names the source.
    """
    if not len(rows.label):
        raise InputError(f"{source} has no samples")
    if len(rows.x) != len(rows.label):
        raise InputError(f"{source} has {len(rows.x)} inputs, but {len(rows.label)} labels")
    if learn == "classes":
        return _classes(rows.label, source)
    if rows.label.dtype.kind not in "biuf":
        raise InputError(f"{source}: labels are text, such as {str(rows.label[0])!r}, no numbers")
    numbers = rows.label.reshape(len(rows.label), -1).astype(np.float32)
    if learn == "labels" and (odd := numbers[(numbers != 0) & (numbers != 1)]).size:
        raise InputError(f"{source}: labels are 0 or 1, but one is {odd[0]:g}")
    return numbers, numbers.shape[1]


def _classes(label: NDArray[Any], source: Path) -> tuple[NDArray[np.int64], int]:
    """Return `(n,)` the class of each sample, and how many there are."""
    if label.ndim != 1:
        raise InputError(
            f"{source}: a label has {label[0].size} numbers, but a class is "
            "one; several labels of 0 or 1 are `learn: labels`, regression `learn: numbers`"
        )
    names, y, held = np.unique(label, return_inverse=True, return_counts=True)
    if len(names) == 1:
        raise InputError(
            f"{source}: all samples are of the class {_cell(names[0])}, so that "
            "there is nothing to tell apart"
        )
    if len(y) >= ENOUGH and (alone := held == 1).sum() > len(y) / 2:
        raise InputError(
            f"{source}: {alone.sum():,} of {len(y):,} samples have a label of "
            f"their own, such as {_cell(names[alone][0])}: these are no classes; "
            "for numbers to predict write `learn: numbers`"
        )
    return y.astype(np.int64), len(names)


def _cell(label: Any) -> str:
    """Return a label as a user would write it."""
    return repr(str(label)) if isinstance(label, str) else str(label)
