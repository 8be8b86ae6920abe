"""Every registered model goes through the contract, which catches faulty ones."""

from typing import Any

import pytest
import torch
from torch import nn

from simfl.components.models.base import models
from simfl.components.models.logistic_regression import LogisticRegression
from simfl.testing.contract import suites
from simfl.testing.models import ModelContract

TRAITS: dict[str, dict[str, Any]] = {
    "fedcore_lstm": {"shapes": ((5,), (1, 28, 28)), "options": {"hidden": 8}},
    "resnet": {"options": {"blocks": [1, 1, 1], "channels": 4}},
}
globals().update(suites(ModelContract, models, TRAITS))


class Wrapped(LogisticRegression):
    """Each subclass adds one faulty layer at the end."""

    def build(self, shape, classes):
        return nn.Sequential(super().build(shape, classes), self.layer(classes))

    def layer(self, classes):
        return nn.Identity()


class Narrow(Wrapped):
    def layer(self, classes):
        return nn.Linear(classes, classes - 1)


class MeanOfTheBatch(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=0)


class LooksAtOthers(Wrapped):
    def layer(self, classes):
        return MeanOfTheBatch()


class KeepsBuffers(Wrapped):
    def layer(self, classes):
        layer = nn.Identity()
        layer.register_buffer("seen", torch.zeros(classes))
        return layer


class NormalisesBatches(Wrapped):
    def layer(self, classes):
        return nn.BatchNorm1d(classes)


class TestOfBatchNorm(ModelContract):
    create = NormalisesBatches


class StartsAnywhere(Wrapped):
    def layer(self, classes):
        linear = nn.Linear(classes, classes)
        generator = torch.Generator()
        generator.seed()
        nn.init.normal_(linear.weight, generator=generator)
        return linear


class StartsAtZero(Wrapped):
    def build(self, shape, classes):
        module = super().build(shape, classes)
        for parameter in module.parameters():
            nn.init.zeros_(parameter)
        return module


class Flat(nn.Module):
    def forward(self, x):
        return x - x.detach() + x * 0


class LearnsNothing(Wrapped):
    def layer(self, classes):
        return Flat()


class Crashes(Wrapped):
    """Fails by accident instead of saying what does not fit."""

    def build(self, shape, classes):
        assert len(shape) == 1
        return super().build(shape, classes)


class DrawsForItself(nn.Module):
    def forward(self, x):
        generator = torch.Generator()
        generator.seed()
        return x + torch.rand(x.shape[-1], generator=generator)


class Noisy(Wrapped):
    def layer(self, classes):
        return DrawsForItself()


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Narrow, "test_logits"),
        (LooksAtOthers, "test_logits"),
        (Crashes, "test_logits"),
        (StartsAnywhere, "test_the_flat_vector_is_the_whole_model"),
        (StartsAtZero, "test_the_flat_vector_is_the_whole_model"),
        (KeepsBuffers, "test_the_flat_vector_is_the_whole_model"),
        (LearnsNothing, "test_it_learns"),
        (Noisy, "test_company_changes_no_bit"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(ModelContract, test, fault, sound=Wrapped)
