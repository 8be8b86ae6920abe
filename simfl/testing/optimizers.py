"""The contract of every client optimizer, as a test suite: see `simfl.testing.contract`."""

from collections.abc import Callable

import torch
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.optimizers.base import Optimizer
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract

STEPS = 4


class OptimizerContract(ComponentContract):
    """What holds for every optimizer; inherit and set `create`."""

    create: Callable[..., Optimizer]

    def descend(
        self,
        start: torch.Tensor,
        goals: torch.Tensor,
        rates: torch.Tensor,
        steps: int = STEPS,
        optimizer: Optimizer | None = None,
    ) -> torch.Tensor:
        """Return where clients get that step from `start` `(a, p)` towards their `goals`.

        The gradient is that of half the squared distance; the `optimizer` is new unless given.
        """
        optimizer, params = optimizer or self.create(), start.clone()
        memory = [torch.zeros_like(params) for _ in range(optimizer.buffers)]
        for step in range(1, steps + 1):
            optimizer.update(params, params - goals, rates, memory, step)
        return params

    @RELAXED
    @given(seed=SEEDS, clients=st.integers(1, 9), p=st.integers(1, 70))
    def test_company_changes_no_bit(self, seed: int, clients: int, p: int) -> None:
        """A client steps to the bits that it would reach alone; its rate stays what it was."""
        start, goals, rates = _clients(seed, clients, p)
        before = rates.clone()
        together = self.descend(start, goals, rates)
        assert torch.equal(rates, before), "the rates were written to"
        assert together.shape == start.shape, tuple(together.shape)
        assert torch.isfinite(together).all(), together
        for at in range(clients):
            lane = slice(at, at + 1)
            alone = self.descend(start[lane], goals[lane], rates[lane])
            assert torch.equal(together[lane], alone), f"client {at} of {clients}: other bits"

    def test_it_descends(self) -> None:
        """Small steps get nearer to where the gradient is 0."""
        start, goals, rates = _clients(0, 5, 20)
        params = self.descend(start, goals, rates, steps=20)
        assert ((params - goals).norm(dim=1) < (start - goals).norm(dim=1)).all()

    def test_participations_share_nothing(self) -> None:
        """All that is remembered is in `memory`, which each participation begins with zeros."""
        clients, optimizer = _clients(1, 3, 10), self.create()
        first, second = (self.descend(*clients, optimizer=optimizer) for _ in range(2))
        assert torch.equal(first, second)

    def test_at_a_rate_of_0_nobody_moves(self) -> None:
        """The rate multiplies the whole step, weight decay included."""
        start, goals, rates = _clients(2, 3, 10)
        assert torch.equal(self.descend(start, goals, 0 * rates), start)


def _clients(seed: int, clients: int, p: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return `(clients, p)` starts, `(clients, p)` goals of theirs and `(clients, 1)` rates."""
    chance = torch.Generator().manual_seed(seed)
    start, goals = (torch.randn(clients, p, generator=chance) for _ in range(2))
    return start, goals, 0.01 * (1 + torch.rand(clients, 1, generator=chance))
