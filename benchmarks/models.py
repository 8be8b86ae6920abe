"""The models of W1 to W8 that simfl has not, as a user would write them."""

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
