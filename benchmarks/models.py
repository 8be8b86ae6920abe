"""The models of W1 to W8 that simfl has not, as a user would write them."""

from itertools import pairwise

import torch
from torch import nn

from simfl.components.models.base import Model


class Mlp(Model):
    """784-64-30-10."""

    def build(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """See `Model.build`."""
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(784, 64),
            nn.ReLU(),
            nn.Linear(64, 30),
            nn.ReLU(),
            nn.Linear(30, classes),
        )


class Cnn(Model):
    """Two 3x3 convolutions of 32 and 64 channels, each pooled, then so many units.

    With 3,100 units it has ten million parameters.
    """

    units: int = 128

    def build(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """See `Model.build`."""
        return nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * 7 * 7, self.units),
            nn.ReLU(),
            nn.Linear(self.units, classes),
        )


class Logistic(Model):
    """60-10, sigmoid before the softmax."""

    def build(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """See `Model.build`."""
        return nn.Sequential(nn.Linear(60, classes), nn.Sigmoid())


class _Block(nn.Module):
    """A basic block of a ResNet (He et al., 2016), with GroupNorm."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.GroupNorm(2, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.GroupNorm(2, outputs),
        )
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


class ResNet18(Model):
    """ResNet-18 for 32 x 32 pixels, GroupNorm in place of BatchNorm."""

    def build(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """See `Model.build`."""
        widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
        blocks = [
            _Block(inputs, outputs, 1 + (inputs != outputs)) for inputs, outputs in pairwise(widths)
        ]
        return nn.Sequential(
            nn.Conv2d(3, 64, 3, 1, 1, bias=False),
            nn.GroupNorm(2, 64),
            nn.ReLU(),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(512, classes),
        )


class _MeanOverTime(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=1)


class Transformer(Model):
    """Two encoder layers (64 wide, four heads) over tokens."""

    def build(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """See `Model.build`."""
        layers = [
            nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True) for _ in range(2)
        ]
        return nn.Sequential(
            nn.Embedding(classes, 64), *layers, _MeanOverTime(), nn.Linear(64, classes)
        )
