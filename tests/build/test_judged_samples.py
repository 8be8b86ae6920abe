"""The batches in which a model is judged."""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from simfl import Scenario
from simfl.build.model import judge
from simfl.build.model_facts import model_facts
from simfl.components.datasets.clients import Samples
from simfl.components.models.base import Model
from simfl.core.seeds import Seeds
from simfl.training.executors.inline import Inline
from simfl.training.flat import initial_params
from tests.tiny import TINY
from tests.training.learning_stubs import make_task


class SignOfTheFirst(Model):
    """Class 1 where the first number is above the batch's mean."""

    normalises: bool = True

    def build(self, shape, classes):
        linear = nn.Linear(1, classes)
        with torch.no_grad():
            linear.weight.copy_(torch.arange(classes).unsqueeze(1) - 0.5)
            linear.bias.zero_()
        return nn.Sequential(nn.BatchNorm1d(1) if self.normalises else nn.Identity(), linear)


def accuracy(model: SignOfTheFirst, seed: int = 0) -> float:
    """Return how many of 1000 samples, sorted by class, are told."""
    y = np.repeat([0, 1], 500)
    samples = Samples((2.0 * y - 1.0).astype(np.float32).reshape(-1, 1), y)
    scenario = Scenario.from_dict({**TINY, "seed": seed})
    facts = replace(model_facts(scenario), batch_norm=model.normalises)
    executor = Inline()
    task = make_task(model, [5], (1,), classes=2)
    executor.start(task)
    evaluate = judge(executor, samples, facts, scenario, Seeds(seed))
    result = evaluate(initial_params(model, (1,), 2, seed=0))
    executor.close()
    assert result.accuracy is not None
    return result.accuracy


def test_sorted_samples_are_mixed_before_batches_are_normalised() -> None:
    assert accuracy(SignOfTheFirst(normalises=False)) == 1.0
    assert accuracy(SignOfTheFirst()) == 1.0
