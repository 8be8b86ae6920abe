"""Every registered loss under the contract, which catches faulty ones."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from simfl.components.losses.base import Loss, losses
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.losses.mean_squared_error import MeanSquaredError
from simfl.core.circumstances import Circumstances
from simfl.testing.contract import suites
from simfl.testing.losses import LossContract

globals().update(suites(LossContract, losses))


class MeanOfTheBatch(CrossEntropy):
    def rows(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return super().rows(outputs, targets).mean().expand(outputs.shape[:-1])


class AlwaysDouble(CrossEntropy):
    def rows(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return super().rows(outputs.double(), targets)


class FlatForgets(CrossEntropy):
    def rows(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return super().rows(outputs, targets).flatten()


class Rewards(CrossEntropy):
    def rows(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return super().rows(outputs, targets).detach() + 0 * outputs.sum(-1)


class Percent(CrossEntropy):
    def hits(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return 100 * (outputs.argmax(-1) == targets)


class TakesAnything(MeanSquaredError):
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from ()


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (MeanOfTheBatch, "test_a_finite_number_for_each_sample"),
        (AlwaysDouble, "test_a_finite_number_for_each_sample"),
        (FlatForgets, "test_lanes"),
        (Rewards, "test_down_the_gradient_it_falls"),
        (Percent, "test_answers_are_right_or_wrong"),
        (TakesAnything, "test_it_objects_to_targets_of_other_sorts"),
    ],
)
def test_the_contract_catches(fault: type[Loss], test: str, caught: Callable[..., None]) -> None:
    caught(LossContract, test, fault, sound=CrossEntropy)


def test_nothing_is_right_about_a_number() -> None:
    assert not MeanSquaredError().has_accuracy
    assert MeanSquaredError().hits(torch.zeros(1, 1), torch.zeros(1, 1)) is None
