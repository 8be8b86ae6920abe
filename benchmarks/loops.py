"""Two federated-averaging rounds as a researcher would write them, to measure simfl against."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

Client = tuple[torch.Tensor, torch.Tensor]


def dataloader_round(
    model: nn.Module, clients: Sequence[Client], epochs: int, batch: int, lr: float
) -> None:
    """One round with `deepcopy`, `DataLoader` and `optim.SGD`."""
    states = []
    for x, y in clients:
        local = deepcopy(model)
        local.train()
        optimizer = torch.optim.SGD(local.parameters(), lr=lr)
        loader = DataLoader(TensorDataset(x, y), batch_size=batch, shuffle=True)
        for _ in range(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                F.cross_entropy(local(inputs), labels).backward()
                optimizer.step()
        states.append(local.state_dict())
    _average(model, states, [len(y) for _, y in clients])


def tensor_round(
    model: nn.Module, clients: Sequence[Client], epochs: int, batch: int, lr: float
) -> None:
    """One round with `deepcopy`, tensor indexing and `optim.SGD`."""
    states = []
    for x, y in clients:
        local = deepcopy(model)
        local.train()
        optimizer = torch.optim.SGD(local.parameters(), lr=lr)
        for _ in range(epochs):
            order = torch.randperm(len(y))
            for first in range(0, len(y), batch):
                rows = order[first : first + batch]
                optimizer.zero_grad()
                F.cross_entropy(local(x[rows]), y[rows]).backward()
                optimizer.step()
        states.append(local.state_dict())
    _average(model, states, [len(y) for _, y in clients])


def loop_evaluation(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """Return accuracy and loss, in batches of 1,000."""
    model.eval()
    hits, loss = 0, 0.0
    with torch.no_grad():
        for first in range(0, len(y), 1000):
            logits = model(x[first : first + 1000])
            labels = y[first : first + 1000]
            hits += int((logits.argmax(1) == labels).sum())
            loss += F.cross_entropy(logits, labels, reduction="sum").item()
    return hits / len(y), loss / len(y)


def _average(model: nn.Module, states: Sequence[dict[str, torch.Tensor]], sizes: list[int]) -> None:
    total = sum(sizes)
    model.load_state_dict(
        {
            name: sum(
                (state[name] * (n / total) for state, n in zip(states, sizes, strict=True)),
                torch.zeros_like(value),
            )
            for name, value in model.state_dict().items()
        }
    )
