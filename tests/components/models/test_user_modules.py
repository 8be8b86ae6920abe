"""Plain `torch.nn.Module`s as models, and what is told of those that can't be trained."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from simfl import Scenario
from simfl.components.models.base import models
from simfl.errors import InputError
from simfl.scenario.checks import complaints
from tests.tiny import TINY, RunTiny

MODULE = """\
import warnings

import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, width: int = 4, shape=None, classes: int = 2) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.LazyLinear(width) if shape is None
            else nn.Linear(shape[0] * shape[1] * shape[2], width), nn.ReLU(),
            nn.Linear(width, classes))

    def forward(self, x):
        return self.layers(x)


def make(width: int):
    return Plain(width, (1, 6, 6), 10)


def narrow():
    return Plain(4, (1, 6, 6), 3)


def normalised():
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 10))


def counting():
    layers = nn.Sequential(nn.Flatten(), nn.Linear(36, 10))
    layers.register_buffer("seen", torch.zeros(1))
    return layers


def nothing():
    return nn.Flatten()


def a_number():
    return 3


def broken():
    return 1 / 0


class Stubborn(Plain):
    def forward(self, x):
        raise KeyError("what")


class NoTensor(Plain):
    def forward(self, x):
        return [super().forward(x)]


class Detached(Plain):
    def forward(self, x):
        return super().forward(x).detach()


class CountsOnTheCpu(Plain):
    def forward(self, x):
        return super().forward(x) + x.sum().item()


def lazy():
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(10))


def scripted():
    with warnings.catch_warnings(action="ignore"):  # it is deprecated
        return nn.Sequential(torch.jit.script(make(4)))


class Counting(Plain):
    seen = 0

    def forward(self, x):
        self.seen = self.seen + 1
        return super().forward(x) * self.seen


class Drifting(Plain):
    mean = 0.0

    def forward(self, x):
        outputs = super().forward(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * outputs.mean().detach()
        return outputs - (0 if self.training else self.mean)


class Watched(Plain):
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        self.last = nn.functional.dropout(super().forward(x), 0.5, self.training)
        return self.last


def numberless():
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 10, device="meta"))
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "user_modules.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def scenario(model: object) -> Scenario:
    return Scenario.from_dict({**TINY, "model": model})


def test_a_class_is_trained_as_it_is(run_tiny: RunTiny) -> None:
    model = {"name": "user_modules:Plain", "width": 8}
    mine, built_in = run_tiny({"model": model}), run_tiny()
    assert mine.rounds.end_s.tolist() == built_in.rounds.end_s.tolist()  # as many parameters
    assert mine.summary["final_accuracy"] == built_in.summary["final_accuracy"]


@pytest.mark.parametrize("name", ["make", "CountsOnTheCpu", "Watched"])
def test_what_can_be_trained_is_not_objected_to(name: str) -> None:
    options = {} if name == "CountsOnTheCpu" else {"width": 5}
    assert not complaints(scenario({"name": f"user_modules:{name}", **options}))


def test_batch_norm_is_trained_by_batch_statistics_and_that_is_said(run_tiny: RunTiny) -> None:
    """Clients of 25 samples end with a batch of one; the file has parameters alone."""
    changes = {"fleet.count": 9, "training.batch_size": 25, "rounds.stop.rounds": 15}
    result = run_tiny({"model": "user_modules:normalised", **changes})
    assert result.final_accuracy > 0.5
    said = "model: batch norm by each batch's own statistics, in evaluations too; no running ones"
    assert said in result.provenance["assumed"]
    state = torch.load(result.folder / "model.pt")
    assert {name.partition(".")[2] for name in state} == {"weight", "bias"}
    assert "1.weight" in state


def test_it_is_written_and_sent_to_others_by_name() -> None:
    model = models.parse({"name": "user_modules:make", "width": 3})
    untouched: dict[str, Any] = {"reinitialised": [], "frozen": [], "personal": []}
    own = {"weights_file": None, **untouched, "width": 3}
    assert models.dump(model) == {"name": "user_modules:make", **own}
    assert pickle.loads(pickle.dumps(model)) == model == models.parse(models.dump(model))


CASES: dict[str, str] = {
    "narrow": r"logits of shape \(2, 10\), one for each class, but gives \(2, 3\)",
    "counting": r"keeps buffers \(seen\)",
    "nothing": "has no parameters to train",
    "a_number": "must be a torch.nn.Module, but it is a int",
    "broken": r"being tried: ZeroDivisionError: division by zero \(.*user_modules.py:46\)",
    "lazy": "has a LazyLinear, whose size is not known before its first input; give it one",
    "Stubborn": r"being tried: KeyError: 'what' \(.*user_modules.py:51\)",
    "NoTensor": "but gives list",
    "scripted": "holds, a module of TorchScript, .*; give the module that it was made of",
    "numberless": r"parameters on PyTorch's meta device, .* numbers \(1.weight, 1.bias\); make",
    "Counting": r"other outputs .* each time, and `forward` changes .* \(seen\) \(.*.py:81\); the",
    "Drifting": r"changes what it remembers \(mean\)",
    "Detached": r"outputs without a gradient, .* under no_grad \(.*user_modules.py:60\)\?",
}


@pytest.mark.parametrize(("name", "message"), CASES.items())
def test_what_cannot_be_trained_is_told(name: str, message: str, run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match=f"model: .*{message}"):
        run_tiny({"model": f"user_modules:{name}"})


@pytest.mark.parametrize("name", ["Counting", "numberless", "scripted"])
def test_what_cannot_be_trained_is_told_before_it_is_run(name: str) -> None:
    assert complaints(scenario(f"user_modules:{name}"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "missing a required argument: 'width'; its arguments are"),
        ({"width": 3, "depth": 2}, "unexpected keyword argument 'depth'"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scenario({"name": "user_modules:make", **options})
