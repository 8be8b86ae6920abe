"""Which modules the compiled kernel can run, and where their parameters lie in its memory."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from simfl.core.types import Ids
from simfl.training.compilable import MOST_AFTER, MOST_LAYERS, linear_layers_fit
from simfl.training.flat import Layout, is_frozen
from simfl.training.kernels.stages import (
    Stage,
    dropouts,
    flattens_first,
    leaves,
    shares_weights,
    stacked,
)

PAD, PANEL = 8, 64
"""Columns of a matrix of weights: a multiple of `PAD`, in panels of `PANEL` (vectors.h)."""


@dataclass
class ConvolutionSpec:
    """A convolution with stride 1, by its parameters' names, the ReLU and max-pooling after it."""

    weight: str
    bias: str | None
    channels: int
    height: int
    width: int
    outputs: int
    kernel: int
    padding: int
    relu: bool = False
    pool: int = 1

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of what it hands on."""
        lost = self.kernel - 1 - 2 * self.padding
        return (self.height - lost) // self.pool, (self.width - lost) // self.pool


@dataclass
class NetworkSpec:
    """Convolutions, then linear layers."""

    convolutions: list[ConvolutionSpec]
    linears: list[Stage]

    @property
    def masks(self) -> int:
        """Dropout factors that a row needs."""
        return sum(width for width, _ in dropouts(self.linears))

    @property
    def layers(self) -> int:
        """How many layers have weights."""
        return len(self.convolutions) + len(self.linears)

    def index(self, layout: Layout) -> Ids:
        """Return where each number of the kernel's memory is in the flat vector; -1: nowhere."""
        offsets = dict(zip(layout.names, layout.offsets, strict=True))
        parts = []
        for convolution in self.convolutions:
            shape = (convolution.outputs, convolution.channels, *[convolution.kernel] * 2)
            at = offsets[convolution.weight] + np.arange(math.prod(shape)).reshape(shape)
            parts.append(_panels(at.transpose(2, 3, 1, 0).reshape(-1, convolution.outputs)))
            parts.append(_bias(offsets, convolution))
        for i, linear in enumerate(self.linears):
            at = offsets[linear.weight] + np.arange(linear.outputs * linear.inputs)
            terms = at.reshape(linear.outputs, linear.inputs).T
            if i == 0 and self.convolutions:  # channels last there, first in the flat vector
                last = self.convolutions[-1]
                cells = terms.reshape(last.outputs, *last.sides, linear.outputs)
                terms = cells.transpose(1, 2, 0, 3).reshape(terms.shape)
            parts += [_panels(terms), _bias(offsets, linear)]
        return np.concatenate(parts)


def _panels(index: Ids) -> Ids:
    """Return the numbers of a matrix `(terms, columns)` panel by panel, padded with -1."""
    columns = -(-index.shape[1] // PAD) * PAD
    whole = np.full((len(index), columns), -1, dtype=np.int64)
    whole[:, : index.shape[1]] = index
    panels = [whole[:, first : first + PANEL].ravel() for first in range(0, columns, PANEL)]
    return np.concatenate(panels)


def _bias(offsets: Mapping[str, int], layer: ConvolutionSpec | Stage) -> Ids:
    index = np.full(-(-layer.outputs // PAD) * PAD, -1, dtype=np.int64)
    if layer.bias is not None:
        index[: layer.outputs] = offsets[layer.bias] + np.arange(layer.outputs)
    return index


def network_of(module: nn.Module, shape: tuple[int, ...]) -> NetworkSpec | None:
    """Return what the compiled kernel makes of `module`; None: it can't run it.

    It runs sequences of convolutions (stride 1, one padding all around), ReLU and max-pooling,
    then of linear layers, ReLU, sigmoid, tanh and dropout, where all of them are trained.

    Args:
        module: the model.
        shape: of one input.
    """
    if is_frozen(module):
        return None
    layers = leaves(module)
    convolutions: list[ConvolutionSpec] = []
    sides = shape
    while layers and type(layers[0][1]) not in (nn.Flatten, nn.Linear):
        taken = _convolution(layers, sides)
        if taken is None:
            return None
        convolutions.append(taken)
        sides = (taken.outputs, *taken.sides)
        if min(sides) < 1:
            return None
    if flattens_first(layers):
        del layers[0]
    elif len(sides) != 1:
        return None
    linears = stacked(layers, math.prod(sides))
    if linears is None:
        return None
    spec = NetworkSpec(convolutions, linears)
    return spec if _fits(spec) and not shares_weights(module, spec.layers) else None


def _convolution(
    layers: list[tuple[str, nn.Module]], sides: tuple[int, ...]
) -> ConvolutionSpec | None:
    """Take a convolution and what belongs to it off the front of `layers`."""
    name, layer = layers[0]
    if type(layer) is not nn.Conv2d or len(sides) != 3 or not _plain(layer):
        return None
    padding = _padding(layer)
    if padding is None:
        return None
    del layers[0]
    spec = ConvolutionSpec(
        f"{name}weight",
        None if layer.bias is None else f"{name}bias",
        *sides,
        outputs=layer.out_channels,
        kernel=int(layer.kernel_size[0]),
        padding=padding,
    )
    while layers and not (spec.relu and spec.pool > 1):
        after = layers[0][1]
        if type(after) is nn.ReLU and not spec.relu:
            spec.relu = True
        elif type(after) is nn.MaxPool2d and spec.pool == 1 and (side := _pool(after)):
            spec.pool = side
        else:
            break
        del layers[0]
    return spec


def _plain(layer: nn.Conv2d) -> bool:
    height, width = layer.kernel_size
    ones = (*layer.stride, *layer.dilation, layer.groups) == (1, 1, 1, 1, 1)
    return ones and height == width and layer.padding_mode == "zeros"


def _padding(layer: nn.Conv2d) -> int | None:
    """Return how many zeros are on each side; None: not as many on every side."""
    kernel = int(layer.kernel_size[0])
    if layer.padding == "same":
        return kernel // 2 if kernel % 2 else None
    if layer.padding == "valid":
        return 0
    both = tuple(int(side) for side in layer.padding)
    return both[0] if both[0] == both[1] and both[0] < kernel else None


def _pool(layer: nn.MaxPool2d) -> int | None:
    """Return the side of the squares; None: it is no plain pooling over squares of 2 to 15."""
    size = layer.kernel_size
    side = size if isinstance(size, int) else size[0] if len(set(size)) == 1 else 0
    same = layer.stride in (side, (side, side))
    plain = (layer.padding, layer.dilation, layer.ceil_mode) == (0, 1, False)
    return int(side) if same and plain and 2 <= side <= 15 else None


def _fits(spec: NetworkSpec) -> bool:
    return (
        len(spec.convolutions) <= MOST_LAYERS
        and linear_layers_fit([layer.inputs * layer.outputs for layer in spec.linears])
        and all(len(layer.after) <= MOST_AFTER for layer in spec.linears)
    )
