"""Losses over the lanes of a block of steps: what a step needs of them, and what it leaves."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import gcd

import torch
from typing_extensions import override

from simfl.components.losses.base import Loss
from simfl.training.kernels.lanes import ALIGNED, Lanes


class Objective(ABC):
    """The loss of the batches of one block."""

    def targets(self, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return what steps are given of targets `(s, width, ...)`.

        Args:
            y: as the data set has them.
            weights: `(s, width, 1)` each row's in its batch's loss.
        """
        return y

    @abstractmethod
    def split(self, counts: Sequence[int]) -> Iterator[tuple[torch.Tensor, ...]]:
        """Return what each step writes, given how many batches each has."""

    @abstractmethod
    def losses(self, y: torch.Tensor) -> torch.Tensor:
        """Return the losses `(s, width)` of all rows, given their targets `(s, width, ...)`."""


class SoftmaxObjective(Objective):
    """Cross-entropy by hand: steps leave their logits, and the logarithms are taken at once.

    A step's targets are one-hot times the weights, `(a, width, c)`.  It writes logits
    `(a, width, c)`, the row-wise sums `(a, width, 1)` of ``exp(logits - shifts)`` and the shifts
    `(a, width, 1)`, zero unless written.

    Args:
        batches: room for so many.
        width: rows of each.
        classes: logits of each row.
    """

    def __init__(self, batches: int, width: int, classes: int) -> None:
        self._logits = torch.empty(batches, width, classes)
        self._sums = Lanes(batches, width, 1)
        self._shifts = torch.zeros(batches, width, 1)

    @override
    def targets(self, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        targets = torch.zeros(*y.shape, self._logits.shape[2])
        return targets.scatter_(2, y.unsqueeze(2), weights)

    @override
    def split(self, counts: Sequence[int]) -> Iterator[tuple[torch.Tensor, ...]]:
        n = sum(counts)
        whole = self._logits, self._sums.every, self._shifts
        return zip(*(torch.split_with_sizes(part[:n], counts) for part in whole), strict=True)

    @override
    def losses(self, y: torch.Tensor) -> torch.Tensor:
        batches = y.shape[0]
        sums = self._sums.take(batches)
        sums.whole.log_()
        right = self._logits[:batches].gather(2, y.unsqueeze(2))
        return (sums.matrix + self._shifts[:batches] - right).squeeze(2)


class RowObjective(Objective):
    """Any loss: each step writes the losses `(a, width)` of its rows.

    Args:
        batches: room for so many.
        width: rows of each.
    """

    def __init__(self, batches: int, width: int) -> None:
        self._losses = torch.empty(batches, width)

    @override
    def split(self, counts: Sequence[int]) -> Iterator[tuple[torch.Tensor, ...]]:
        parts = torch.split_with_sizes(self._losses[: sum(counts)], counts)
        return ((part,) for part in parts)

    @override
    def losses(self, y: torch.Tensor) -> torch.Tensor:
        return self._losses[: y.shape[0]]


class RowGradient:
    """The gradient of any loss with respect to the outputs of lanes.

    Lanes are filled up until there is a multiple of 64 rows: whatever elementwise functions a loss
    calls, and over whatever it sums, no lane's numbers are then among the few left over at the end
    of a tensor, which are rounded otherwise.

    Args:
        loss: which.
        lanes: how many at most.
        width: rows of a batch.
        outputs: of the model.
    """

    def __init__(self, loss: Loss, lanes: int, width: int, outputs: int) -> None:
        self._loss = loss
        self._multiple = ALIGNED // gcd(ALIGNED, width)
        self._room = -(-lanes // self._multiple) * self._multiple
        self._outputs = torch.zeros(self._room, width, outputs)
        self._weights = torch.zeros(self._room, width)
        self._targets: torch.Tensor | None = None

    def __call__(
        self, outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the losses `(a, width)` and ``weights * d loss / d outputs`` `(a, width, c)`."""
        lanes = len(outputs)
        filled = -(-lanes // self._multiple) * self._multiple
        if self._targets is None:
            self._targets = targets.new_zeros(self._room, *targets.shape[1:])
        self._outputs[:lanes] = outputs
        self._targets[:lanes] = targets
        self._weights[:lanes] = weights.squeeze(2)
        leaf = self._outputs[:filled].detach().requires_grad_()
        with torch.enable_grad():
            rows = self._loss.checked_rows(leaf, self._targets[:filled])
        (delta,) = torch.autograd.grad(rows, leaf, self._weights[:filled])
        return rows.detach()[:lanes], delta[:lanes]
