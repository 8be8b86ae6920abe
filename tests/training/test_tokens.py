import pytest
import torch
from torch import nn

from simfl.training.tokens import example_input, reads_tokens, takes_tokens


class Positions(nn.Module):
    """Measurements, each at a place of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.place = nn.Linear(1, 4), nn.Embedding(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = self.place(torch.arange(x.shape[1], device=x.device))
        return (self.value(x.unsqueeze(-1)) + places).mean(1)


class Whole(nn.Module):
    """Makes whole numbers of whatever it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.words(x.long()).mean(1)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_tokens_are_what_an_embedding_of_inputs_takes(device: str) -> None:
    with torch.device(device):
        words = nn.Sequential(nn.Embedding(9, 4), nn.Flatten())
        bag, positions = nn.EmbeddingBag(9, 4), Positions()
    assert takes_tokens(words, (6,))
    assert takes_tokens(bag, (6,))
    assert not takes_tokens(positions, (6,))
    assert reads_tokens(words, (6,))
    assert device == "meta" or not reads_tokens(positions, (6,))  # there types are not looked at
    with torch.device(device):
        whole = Whole()
    assert reads_tokens(whole, (6,))  # which was said to take none
    assert not takes_tokens(whole, (6,))
    assert example_input(words, (6,)).dtype == torch.int64
    assert example_input(positions, (6,)).dtype == torch.float32
    assert positions.training
