"""What residual networks are made of."""

import torch
from torch import nn


class ResidualBlock(nn.Module):
    """The basic block: two 3x3 convolutions, and a way round them, each group-normalised.

    The way round is the identity where that fits, and a 1x1 convolution elsewhere.

    Args:
        inputs: channels of what comes in.
        outputs: channels of what goes out.
        stride: pixels from one window of the first convolution to the next.
        groups: into which the normalisation divides the channels.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            nn.GroupNorm(groups, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.GroupNorm(groups, outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.GroupNorm(groups, outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map `(n, inputs, h, w)` to `(n, outputs, ceil(h / stride), ceil(w / stride))`."""
        return torch.relu(self.residual(x) + self.shortcut(x))
