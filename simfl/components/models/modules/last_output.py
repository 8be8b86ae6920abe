"""The recurrent part of a language model."""

from typing import cast

import torch
from torch import nn


class LastOutput(nn.Module):
    """Stacked LSTM layers that return only what they say after the last input.

    Args:
        inputs: numbers per input.
        hidden: units of each layer.
        layers: number of layers.
    """

    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map `(n, length, inputs)` to `(n, hidden)`."""
        return cast(torch.Tensor, self.lstm(x)[0][:, -1])
