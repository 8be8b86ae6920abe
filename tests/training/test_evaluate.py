import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simfl.components.losses.binary_cross_entropy import BinaryCrossEntropy
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.metrics.base import QualityMetric
from simfl.components.metrics.macro_f1 import MacroF1
from simfl.core.returned import Unexpected
from simfl.errors import ComponentError
from simfl.training.evaluate import BATCH, evaluate, judge
from simfl.training.flat import build, load
from tests.training.learning_stubs import Convolutional, Perceptron, Reader, initial, make_task

CASES = [
    (Perceptron(dropout=0.5), (4, 5), False),
    (Convolutional(dropout=0.5), (2, 8, 8), False),
    (Reader(), (6,), True),
]


@pytest.mark.parametrize(("model", "shape", "tokens"), CASES)
@pytest.mark.parametrize("n", [1, 250, BATCH + 130])
def test_accuracy_and_loss_are_those_of_the_module(model, shape, tokens, n):
    task = make_task(model, [n], shape, tokens=tokens)
    params = initial(task)
    x, y = task.data.x[:n], task.data.y[:n]
    module = build(task.model, task.shape, task.classes).eval()
    load(module, params)
    with torch.no_grad():
        logits = module(x)
        losses = F.cross_entropy(logits, y, reduction="none").double()
    hits = (logits.argmax(1) == y).double()
    result = evaluate(task, params, x, y)
    assert result.accuracy == hits.mean().item()
    assert result.loss == pytest.approx(losses.mean().item(), rel=1e-6)
    assert result == evaluate(task, params, x, y)


def test_nothing_to_evaluate_on():
    task = make_task(Perceptron(), [5])
    result = evaluate(task, initial(task), task.data.x[:0], task.data.y[:0])
    assert result.accuracy is not None
    assert np.isnan([result.accuracy, result.loss]).all()


@pytest.mark.parametrize("n", [10, 41])
def test_answers_that_are_right_in_part_add_up_as_people_reckon(n):
    """Else a target of 60% is missed by whoever has three labels of five right everywhere."""
    task = make_task(Perceptron(), [5])
    labels = replace(task, training=replace(task.training, loss=BinaryCrossEntropy()))
    outputs = torch.tensor([[1.0, 1.0, 1.0, -1.0, -1.0]]).repeat(n, 1)
    assert judge(labels, outputs, torch.ones(n, 5)).accuracy == 0.6


def test_an_answer_that_is_no_number_is_not_right():
    """The largest of NaN alone is said to be the first: it was right about every class 0."""
    task = replace(make_task(Perceptron(), [8]), metrics=(MacroF1(),))
    outputs = F.one_hot(torch.arange(8) % task.classes, task.classes).double()
    y = torch.arange(8) % task.classes
    sound = judge(task, outputs, y)
    assert (sound.accuracy, sound.metrics["macro_f1"]) == (1.0, 1.0)
    outputs[y == 0, 1] = float("nan")
    broken = judge(task, outputs, y)
    assert broken.accuracy == (y != 0).double().mean().item()
    assert math.isnan(broken.loss)
    assert broken.metrics == {"macro_f1": None}
    outputs[y == 0] = torch.inf
    huge = judge(task, outputs, y)
    assert (huge.accuracy, huge.metrics) == (1.0, {"macro_f1": None})


class InPlace(Perceptron):
    """Ordinary PyTorch where batches are copies, as a DataLoader's are."""

    def build(self, shape, classes):
        class Shifting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(shape[0], classes)

            def forward(self, x):
                x -= 0.5
                return self.linear(x)

        return Shifting()


def test_what_a_model_does_to_its_inputs_is_nobody_elses():
    """The test set drifted with every evaluation: the loss of a model that learnt grew."""
    task = make_task(InPlace(), [300], (4,))
    x, y = task.data.x, task.data.y
    before, params = x.clone(), initial(task)
    first = evaluate(task, params, x, y)
    assert evaluate(task, params, x, y) == first
    assert torch.equal(x, before)


class Spoils(QualityMetric):
    def of(self, outputs, targets):
        targets[targets != 3] = 0
        return 0.0


class Broadcasts(CrossEntropy):
    softmax: ClassVar[bool] = False

    def hits(self, outputs, targets):
        targets.zero_()
        return outputs.argmax(-1, keepdim=True) == targets


def test_metrics_and_losses_of_users_change_nothing_and_are_looked_at():
    """Labels that a metric wrote over were those of every later evaluation."""
    task = make_task(Perceptron(), [40])
    x, y = task.data.x, task.data.y
    before = y.clone()
    with pytest.raises(ComponentError, match="judging the model: ValueError: assignment dest"):
        evaluate(replace(task, metrics=(Spoils(),)), initial(task), x, y)
    odd = replace(task, training=replace(task.training, loss=Broadcasts()))
    with pytest.raises(Unexpected, match=r"expected a tensor of shape \(\d+,\), a hit for each"):
        evaluate(odd, initial(task), x, y)
    assert torch.equal(y, before)
