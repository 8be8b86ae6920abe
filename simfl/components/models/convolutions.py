"""What the convolutional models have in common: from a list of layers to a module."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field
from typing_extensions import override

from simfl.components.models.base import Model
from simfl.components.models.initial import Initialisation, initialise
from simfl.components.models.shapes import require_picture
from simfl.core.circumstances import Circumstances

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Convolution:
    """A convolution with stride 1, then ReLU, then max-pooling.

    Attributes:
        channels: its outputs.
        kernel: height and width of its window.
        same: pad with zeros so that pictures keep their size.
        pool: height and width of the pooling window (1: none).
    """

    channels: int
    kernel: int
    same: bool = False
    pool: int = 2

    def side(self, side: int) -> int:
        """Return how many pixels are left of `side`."""
        return (side if self.same else side - self.kernel + 1) // self.pool


@dataclass(frozen=True)
class Layers:
    """Convolutions followed by fully connected layers, ReLU between all of them.

    Attributes:
        convolutions: the convolutions, first to last.
        hidden: units of each hidden fully connected layer.
        dropout: probability that a hidden unit of a fully connected layer is left out of a step.
    """

    convolutions: Sequence[Convolution]
    hidden: Sequence[int]
    dropout: float = 0.0

    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Sequential":
        """Return the module for inputs of `shape`, `(channels, height, width)`."""
        from torch import nn

        channels, *sides = shape
        layers: list[nn.Module] = []
        for convolution in self.convolutions:
            sides = [convolution.side(side) for side in sides]
            padding = "same" if convolution.same else 0
            layers += [
                nn.Conv2d(channels, convolution.channels, convolution.kernel, padding=padding),
                nn.ReLU(),
            ]
            if convolution.pool > 1:
                layers.append(nn.MaxPool2d(convolution.pool))
            channels = convolution.channels
        layers.append(nn.Flatten())
        width = channels * sides[0] * sides[1]
        for units in self.hidden:
            layers += [nn.Linear(width, units), nn.ReLU()]
            if self.dropout:
                layers.append(nn.Dropout(self.dropout))
            width = units
        layers.append(nn.Linear(width, classes))
        return nn.Sequential(*layers)

    def smallest_side(self) -> int:
        """Return the least height and width of pictures that the convolutions can take."""
        side = 1
        for convolution in reversed(self.convolutions):
            side *= convolution.pool
            side = side if convolution.same else side + convolution.kernel - 1
        return side


class ConvolutionalModel(Model):
    """Convolutions with ReLU and max-pooling, then fully connected layers with ReLU."""

    init: Initialisation = Field(
        "pytorch", description="how weights are drawn: PyTorch's default, He's or Glorot's"
    )

    made_of: ClassVar[Layers]
    """What it is made of, where that depends on no option."""

    def layers(self) -> Layers:
        """Return what it is made of."""
        return self.made_of

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        require_picture(self.name, circumstances.shape, self.layers().smallest_side())
        yield from super().objections(circumstances)

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        layers = self.layers()
        require_picture(self.name, shape, layers.smallest_side())
        module = layers.build(shape, classes)
        initialise(module, self.init)
        return module
