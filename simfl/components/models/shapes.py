"""Arithmetic and complaints about the shapes of inputs."""

import math

from simfl.errors import InputError


def mismatch(model: str, expected: str, shape: tuple[int, ...]) -> InputError:
    """Return the error of a model that can't take inputs of `shape`."""
    return InputError(
        f"model {model!r} takes inputs of shape {expected}, but the data set's have {shape}"
    )


def require_picture(model: str, shape: tuple[int, ...], least: int) -> None:
    """Refuse inputs that are no pictures of so many pixels a side.

    Raises:
        InputError: they are none.
    """
    expected = "(channels, height, width)"
    if len(shape) != 3 or min(shape) < 1:
        raise mismatch(model, expected, shape)
    if min(shape[1:]) < least:
        raise mismatch(model, f"{expected} of {least} pixels or more", shape)


def flat_size(model: str, shape: tuple[int, ...]) -> int:
    """Return how many numbers an input of `shape` has.

    Raises:
        InputError: none at all.
    """
    size = math.prod(shape)
    if not shape or size < 1:
        raise mismatch(model, "(features,) or (channels, height, width)", shape)
    return size
