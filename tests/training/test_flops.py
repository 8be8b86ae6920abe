"""Floating-point operations by hand."""

import pytest
import torch
from torch import nn

from simfl.training.flat import build
from simfl.training.flops import forward_flops, training_flops
from tests.training.learning_stubs import Perceptron, Reader

STEPS = 6


class Recurrent(nn.Module):
    """A recurrent layer over six steps of two numbers, which come as twelve."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.reshape(len(x), STEPS, 2))[0][:, -1]


class Attentive(nn.Module):
    """Attention of two heads among six tokens of eight numbers."""

    def __init__(self, attention: str) -> None:
        super().__init__()
        self.embedding = nn.Linear(2, 8)
        self.mixing: nn.Module = nn.MultiheadAttention(8, 2, batch_first=True)
        if attention == "layer":
            self.mixing = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.attention = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x.reshape(len(x), STEPS, 2))
        if self.attention == "layer":
            return self.mixing(x).mean(1)
        return self.mixing(x, x, x, need_weights=self.attention == "weights")[0].mean(1)


def test_flops_are_two_per_weight_and_use():
    mlp = build(Perceptron(hidden=(64, 30)), (784,), 10)
    assert forward_flops(mlp, (784,)) == 2 * (784 * 64 + 64 * 30 + 30 * 10)
    # The first layer needs no gradient of its input.
    assert training_flops(mlp, (784,)) == 2 * (2 * 784 * 64 + 3 * 64 * 30 + 3 * 30 * 10)
    convolution = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1))
    assert forward_flops(convolution, (3, 8, 8)) == 2 * 3 * 4 * 9 * 64
    two = nn.Sequential(convolution[0], nn.Conv2d(4, 2, 1), nn.Flatten())
    first, second = 2 * 3 * 4 * 9 * 64, 2 * 4 * 2 * 64
    assert training_flops(two, (3, 8, 8)) == 2 * first + 3 * second
    reader = build(Reader(), (6,), 5)
    recurrent = 4 * 6 * (4 + 6) + 4 * 6 * (6 + 6)
    assert forward_flops(reader, (6,)) == 2 * 6 * recurrent + 2 * 6 * 5
    assert training_flops(reader, (6,)) == 3 * forward_flops(reader, (6,))
    assert reader.training


@pytest.mark.parametrize(
    ("layer", "gates"),
    [
        (nn.LSTM(2, 5, batch_first=True), 4),
        (nn.GRU(2, 5, batch_first=True), 3),
        (nn.RNN(2, 5, batch_first=True), 1),
    ],
    ids=["lstm", "gru", "rnn"],
)
def test_recurrent_layers_count_once_for_each_step_that_they_make(layer, gates) -> None:
    """Whether PyTorch fuses them or not, and however the model was given its inputs."""
    forward = 2 * STEPS * gates * 5 * (2 + 5)
    model = Recurrent(layer)
    assert forward_flops(model, (12,)) == forward_flops(model, (3, 2, 2)) == forward
    assert 2.5 * forward < training_flops(model, (12,)) <= 3 * forward


def test_directions_and_layers_of_recurrent_ones() -> None:
    model = Recurrent(nn.LSTM(2, 5, 2, batch_first=True, bidirectional=True))
    assert forward_flops(model, (12,)) == 2 * STEPS * 2 * 4 * 5 * ((2 + 5) + (10 + 5))


@pytest.mark.parametrize("attention", ["plain", "weights", "layer"])
def test_attention_counts_whatever_is_fused(attention: str) -> None:
    dense = 8 * (24 + 8) + (2 * 8 * 16 if attention == "layer" else 0)
    forward = 2 * STEPS * (2 * 8 + dense + 2 * STEPS * 8)
    model = Attentive(attention)
    assert forward_flops(model, (12,)) == forward
    assert 2.5 * forward < training_flops(model, (12,)) < 3.5 * forward
