"""Pictures are pixels in [0, 1], whatever they are stored as."""

import numpy as np
import pytest
from PIL import Image

from simfl.components.datasets.own.pixels import mode_of, pixels
from simfl.errors import InputError

RAMP = np.linspace(0, 1, 64).reshape(8, 8)


def grey(mode: str) -> Image.Image:
    if mode == "I;16":
        return Image.fromarray(np.round(RAMP * 65535).astype(np.uint16))
    if mode == "I":
        return Image.fromarray(np.round(RAMP * 65535).astype(np.int32))
    return Image.fromarray(np.round(RAMP * 255).astype(np.uint8)).convert(mode)


@pytest.mark.parametrize("mode", ["L", "LA", "I;16", "I"])
def test_grey_pictures_of_any_depth(mode: str) -> None:
    picture = grey(mode)
    assert (picture.mode, mode_of(picture)) == (mode, "grey")
    assert pixels(picture, "grey").shape == (1, 8, 8)
    assert np.allclose(pixels(picture, "grey")[0], RAMP, atol=1 / 255)
    assert np.allclose(pixels(picture, "colour"), np.stack([RAMP] * 3), atol=1 / 255)
    scaled = pixels(picture, "grey", 4)
    assert scaled.shape == (1, 4, 4)
    assert scaled.mean() == pytest.approx(RAMP.mean(), abs=0.02)


@pytest.mark.parametrize("mode", ["P", "CMYK", "RGBA"])
def test_coloured_pictures_have_three_channels(mode: str) -> None:
    red = Image.new("RGB", (3, 2), (255, 0, 0)).convert(mode)
    assert mode_of(red) == "colour"
    assert np.allclose(pixels(red, "colour"), np.array([1, 0, 0])[:, None, None], atol=1e-6)


def test_eight_bits_in_wider_numbers() -> None:
    wide = Image.fromarray(np.round(RAMP * 255).astype(np.int32))
    assert np.allclose(pixels(wide, "grey")[0], RAMP, atol=1 / 255)


def test_black_and_white() -> None:
    assert set(pixels(grey("1"), "grey").ravel()) == {0, 1}


def test_floats_have_no_range() -> None:
    with pytest.raises(InputError, match="floats"):
        pixels(Image.fromarray(RAMP.astype(np.float32)), "grey")
