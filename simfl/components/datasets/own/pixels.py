"""Pictures as Pillow reads them -> pixels in [0, 1], whatever they are stored as."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simfl.errors import InputError

Mode = Literal["grey", "colour"]

_GREY = ("1", "L", "LA", "La")


def mode_of(picture: Any) -> Mode:
    """Return whether a picture is grey; one with a palette is taken for coloured."""
    return "grey" if picture.mode in _GREY or picture.mode.startswith("I") else "colour"


def pixels(picture: Any, mode: Mode, size: int | None = None) -> NDArray[np.float32]:
    """Return `(1 or 3, height, width)` pixels in [0, 1], channels first.

    Args:
        picture: a `PIL.Image.Image`.
        mode: one channel or three.
        size: pixels of a side that it is scaled to (None: left as it is).

    Raises:
        InputError: its pixels are numbers without a range.
    """
    if picture.mode == "F":
        raise InputError("its pixels are floats, whose range is not known; expected 8 or 16 bits")
    if picture.mode.startswith("I"):  # 16 bits, which `convert` would cut off at 255
        from PIL import Image

        deep = np.asarray(picture).astype(np.float32)
        if picture.mode.startswith("I;16") or deep.max() > 255:  # else 8 bits in wider numbers
            deep /= 257
        grey = Image.fromarray(deep)
        scaled = grey if size is None else grey.resize((size, size))
        values = np.asarray(scaled, dtype=np.float32).clip(0, 255)
        if mode == "colour":
            values = np.repeat(values[:, :, None], 3, axis=2)
    else:
        plain = picture.convert("L" if mode == "grey" else "RGB")
        scaled = plain if size is None else plain.resize((size, size))
        values = np.asarray(scaled, dtype=np.float32)
    values = values / 255
    return np.ascontiguousarray(values.reshape(*values.shape[:2], -1).transpose(2, 0, 1))
