import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simfl.components.losses.binary_cross_entropy import BinaryCrossEntropy
from simfl.components.metrics.macro_f1 import MacroF1
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
