"""Every registered optimizer under the contract, which catches faulty ones."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest
from pydantic import Field
from torch import Tensor

from simfl.components.optimizers.adamw import AdamW
from simfl.components.optimizers.base import Optimizer, optimizers
from simfl.components.optimizers.sgd import Sgd
from simfl.testing.contract import suites
from simfl.testing.optimizers import OptimizerContract

globals().update(suites(OptimizerContract, optimizers))
Test_momentum = type(
    "Test_momentum",
    (OptimizerContract,),
    {"create": staticmethod(lambda: Sgd(momentum=0.9, nesterov=True, weight_decay=1e-3))},
)
Memory = Sequence[Tensor]


class NeedsARate(Sgd):
    """Descends, at a rate that has no default."""

    lr: float = Field(gt=0, description="learning rate", examples=[0.1])


class TestNeedsARate(OptimizerContract):
    """A required option's example is what the suite of a class alone creates it with."""

    create = NeedsARate


class LooksAtOthers(Sgd):
    def update(
        self, params: Tensor, gradient: Tensor, rates: Tensor, memory: Memory, step: int
    ) -> None:
        params.sub_(rates * gradient / gradient.norm())


class WritesToTheRates(Sgd):
    def update(
        self, params: Tensor, gradient: Tensor, rates: Tensor, memory: Memory, step: int
    ) -> None:
        params.sub_(rates * gradient)
        rates.mul_(0.5)


class Ascends(Sgd):
    def update(
        self, params: Tensor, gradient: Tensor, rates: Tensor, memory: Memory, step: int
    ) -> None:
        params.add_(rates * gradient)


class DecaysWithoutTheRate(AdamW):
    def update(
        self, params: Tensor, gradient: Tensor, rates: Tensor, memory: Memory, step: int
    ) -> None:
        params.mul_(1 - self.weight_decay)
        super().update(params, gradient, rates, memory, step)


class RemembersBeyond(Sgd):
    lr_sum: ClassVar[float] = 0.0

    def update(
        self, params: Tensor, gradient: Tensor, rates: Tensor, memory: Memory, step: int
    ) -> None:
        type(self).lr_sum += 0.1
        params.sub_(rates * gradient / type(self).lr_sum)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (LooksAtOthers, "test_company_changes_no_bit"),
        (WritesToTheRates, "test_company_changes_no_bit"),
        (Ascends, "test_it_descends"),
        (DecaysWithoutTheRate, "test_at_a_rate_of_0_nobody_moves"),
        (RemembersBeyond, "test_participations_share_nothing"),
    ],
)
def test_the_contract_catches(
    fault: type[Optimizer], test: str, caught: Callable[..., None]
) -> None:
    caught(OptimizerContract, test, fault, sound=Sgd)
