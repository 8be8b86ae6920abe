"""A user's own loss or optimizer is asked, even if it only changes one of simfl's."""

from typing import ClassVar

import numpy as np
import pytest
import torch

from simfl.components.local_training import LocalTraining
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import OrderBatch
from simfl.training.executors.inline import Inline
from tests.training.learning_stubs import Logistic, initial, make_orders, make_task


class Flat(CrossEntropy):
    """Has no gradient."""

    name: ClassVar[str] = "flat"

    def rows(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return super().rows(outputs, targets) * 0


class Still(Sgd):
    """Makes no step."""

    name: ClassVar[str] = "still"

    def update(self, params, gradient, rates, memory, step) -> None:
        """Leave everything as it is."""


@pytest.mark.parametrize(
    "training", [LocalTraining(8, Sgd(lr=0.1), loss=Flat()), LocalTraining(8, Still(lr=0.1))]
)
def test_what_it_overrides_is_called(training) -> None:
    task = make_task(Logistic(), [12, 5], training=training)
    executor = Inline()
    executor.start(task)
    batch = OrderBatch({0: initial(task)}, make_orders([12, 5]))
    for result in executor.train(batch):
        assert np.array_equal(result.params, batch.bases[0])
