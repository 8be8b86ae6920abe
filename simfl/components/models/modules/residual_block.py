"""What residual networks are made of."""

import torch
from torch import nn


class ResidualBlock(nn.Module):
    """Some convolutions and a way round them, each group-normalised.

    The way round is the identity where that fits, and a 1x1 convolution elsewhere.

    Args:
        residual: maps `(n, inputs, h, w)` to `(n, outputs, ceil(h / stride), ceil(w / stride))`.
        inputs: channels of what comes in.
        outputs: channels of what goes out.
        stride: by which height and width shrink.
        groups: into which the normalisation divides the channels.
    """

    def __init__(
        self, residual: nn.Sequential, inputs: int, outputs: int, stride: int, groups: int
    ) -> None:
        super().__init__()
        self.residual = residual
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = normalised(inputs, outputs, 1, stride, groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map `(n, inputs, h, w)` to `(n, outputs, ceil(h / stride), ceil(w / stride))`."""
        return torch.relu(self.residual(x) + self.shortcut(x))


def basic(inputs: int, width: int, stride: int, groups: int) -> ResidualBlock:
    """Return the basic block: two 3x3 convolutions of `width` channels, the first with `stride`."""
    residual = nn.Sequential(
        *normalised(inputs, width, 3, stride, groups),
        nn.ReLU(),
        *normalised(width, width, 3, 1, groups),
    )
    return ResidualBlock(residual, inputs, width, stride, groups)


def bottleneck(inputs: int, width: int, stride: int, groups: int) -> ResidualBlock:
    """Return one whose 3x3 convolution, of `width` channels and with `stride`, is between 1x1 ones.

    It returns four times as many channels.
    """
    outputs = 4 * width
    residual = nn.Sequential(
        *normalised(inputs, width, 1, 1, groups),
        nn.ReLU(),
        *normalised(width, width, 3, stride, groups),
        nn.ReLU(),
        *normalised(width, outputs, 1, 1, groups),
    )
    return ResidualBlock(residual, inputs, outputs, stride, groups)


def normalised(inputs: int, outputs: int, side: int, stride: int, groups: int) -> nn.Sequential:
    """Return a convolution whose windows have `side` pixels, and its normalisation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False),
        nn.GroupNorm(groups, outputs),
    )
