"""Parameters that are not trained: they stay, are never sent, and cost no work."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from simfl import Options, RunResult, Scenario, run
from simfl.cli import main
from simfl.components.models.base import models
from simfl.core.seeds import Seeds
from simfl.scenario.assumptions import assumptions
from simfl.scenario.cautions import cautions
from simfl.scenario.checks import complaints
from simfl.testing.learning import random_task
from simfl.training.flat import build, flatten, initial_params
from simfl.training.memory import training_bytes
from simfl.training.program import program_of
from simfl.training.task import module_of
from tests.tiny import TINY, RunTiny

BODY, HEAD = 36 * 8 + 8, 8 * 10 + 10
"""Parameters of the two layers of `TINY`'s model."""
STILL = {"training.optimizer": {"name": "sgd", "lr": 1e-30}}
"""Training that moves no bit."""


def net(shape: tuple[int, ...], classes: int) -> nn.Module:
    """`TINY`'s model as a user would write it, its body frozen."""
    body, head = nn.Linear(int(np.prod(shape)), 8), nn.Linear(8, classes)
    return nn.Sequential(nn.Flatten(), body.requires_grad_(False), nn.ReLU(), head)


OWN: dict[str, Any] = {"model": f"{__name__}:net"}
FROZEN: dict[str, Any] = {"model.frozen": ["1.*"]}


def tensors(result: RunResult) -> dict[str, torch.Tensor]:
    return torch.load(result.folder / "model.pt", weights_only=True)


def test_what_is_left_is_trained_as_if_it_were_all(run_tiny: RunTiny, tmp_path: Path) -> None:
    """One client's full batches, by arithmetic: softmax regression on what the body gives."""
    start = tensors(run_tiny())
    lr, decay, rounds = 0.5, 0.01, 3
    path = tmp_path / "start.pt"
    torch.save(start, path)
    result = run_tiny(
        {
            **FROZEN,
            "model.weights_file": str(path),
            "fleet.count": 1,
            "rounds": {"clients": 1, "stop": {"rounds": rounds}},
            "training": {"epochs": 1, "batch_size": 240, "proximal": 0.1},
            "training.optimizer": {"name": "sgd", "lr": lr, "weight_decay": decay},
        }
    )
    numbers = [tensor.double().numpy() for tensor in start.values()]
    weight, bias = _regressed(numbers, lr, decay, rounds)
    ended = tensors(result)
    assert list(ended) == list(start)
    assert all(torch.equal(ended[name], start[name]) for name in ("1.weight", "1.bias"))
    assert np.allclose(ended["3.weight"].numpy(), weight, atol=1e-5)
    assert np.allclose(ended["3.bias"].numpy(), bias, atol=1e-5)
    assert not np.allclose(start["3.bias"].numpy(), bias, atol=1e-2)


def _regressed(
    start: list[NDArray[Any]], lr: float, decay: float, steps: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    body, body_bias, weight, bias = start
    samples = Scenario.from_dict(TINY).data.dataset.load(None, Seeds(0)).train
    x = np.maximum(samples.x.reshape(len(samples.y), -1) @ body.T + body_bias, 0)
    right = np.eye(10)[samples.y]
    for _ in range(steps):
        powers = np.exp(x @ weight.T + bias)
        off = (powers / powers.sum(1, keepdims=True) - right) / len(x)
        weight, bias = (
            weight - lr * (off.T @ x + decay * weight),
            bias - lr * (off.sum(0) + decay * bias),
        )
    return weight, bias


def test_only_what_is_trained_is_sent_and_worked_on(run_tiny: RunTiny) -> None:
    """FLOPs: forward through both layers, and backward to the weights of the head alone."""
    timed = {"fleet.compute": "1 MFLOP/s"}
    whole, part, own = (run_tiny(timed | change) for change in ({}, FROZEN, OWN))
    for result, sent, flops in (
        (whole, BODY + HEAD, 2 * (3 * 36 * 8 + 3 * 80 - 36 * 8)),
        (part, HEAD, 2 * (36 * 8 + 80 + 80)),
    ):
        rows = result.clients
        assert (rows["download_bytes"] == 4 * sent).all()
        assert (rows["upload_bytes"] == 4 * sent).all()
        took_s = (rows["compute_end_s"] - rows["download_end_s"]).to_numpy()
        assert np.allclose(took_s, 2 * rows["samples"].to_numpy() * flops / 1e6)
    assert (own.folder / "events.jsonl").read_bytes() == (part.folder / "events.jsonl").read_bytes()
    assert (own.folder / "model.pt").read_bytes() == (part.folder / "model.pt").read_bytes()


def test_compressors_and_control_variates_see_no_more(run_tiny: RunTiny) -> None:
    changes = {"training.compression": {"name": "top_k", "share": "10%"}, **FROZEN}
    assert (run_tiny(changes).clients["upload_bytes"] == 8 * (HEAD // 10)).all()
    scaffold = run_tiny({"aggregation": "scaffold", **FROZEN}).clients
    assert (scaffold["download_bytes"] == 2 * 4 * HEAD).all()


def test_random_layers_are_those_of_the_seed(run_tiny: RunTiny) -> None:
    """In one process, where what was built for one seed is kept for the next."""
    ends = []
    for seed in (0, 1, 0):
        part, whole = (run_tiny({"seed": seed, **STILL, **how}) for how in (FROZEN, {}))
        assert all(torch.equal(a, b) for a, b in zip(*map(_values, (part, whole)), strict=True))
        assert np.allclose(part.rounds["loss"], whole.rounds["loss"], rtol=1e-5)
        ends.append(part.rounds["loss"].iloc[-1])
    assert ends[0] == ends[2] != ends[1]


def _values(result: RunResult) -> list[torch.Tensor]:
    return list(tensors(result).values())


def test_other_processes_are_sent_them() -> None:
    model = models.parse({"name": "mlp", "hidden": [8], "frozen": ["1.*"]})
    task = random_task(model, (36,), 10, (9, 4))
    task = replace(task, frozen=np.arange(BODY, dtype=np.float32))
    sent = pickle.loads(pickle.dumps(task))
    assert np.array_equal(flatten(module_of(sent), frozen=True), task.frozen)
    assert program_of(sent) is program_of(task)
    other = replace(task, frozen=np.ones(BODY, dtype=np.float32))
    assert program_of(other) is not program_of(task)


def test_training_takes_less_memory() -> None:
    training = Scenario.from_dict(TINY).training.local()
    whole, part = (
        build(models.parse({"name": "mlp", "hidden": [8], "frozen": frozen}), (36,), 10)
        for frozen in ([], ["1.*"])
    )
    saved = [training_bytes(module, (36,), training) for module in (whole, part)]
    assert saved[0] - saved[1] >= 4 * BODY  # the gradient, and what autograd keeps of the body


def test_evaluate_knows_them_from_the_model(run_tiny: RunTiny, tmp_path: Path) -> None:
    """What a run began with need not be there any more."""
    from simfl.runs.evaluation.evaluate import evaluate

    path = tmp_path / "start.pt"
    torch.save(tensors(run_tiny({"seed": 5})), path)
    ours = run_tiny({**FROZEN, **STILL, "model.weights_file": str(path)})
    before = evaluate(ours).clients
    whole = run_tiny({**STILL, "model.weights_file": str(path)})
    assert np.allclose(before["loss"], evaluate(whole).clients["loss"], rtol=1e-5)
    path.unlink()
    assert evaluate(ours).clients.equals(before)


def test_what_is_said() -> None:
    model = {"name": "mlp", "hidden": [8], "frozen": ["1.*"]}
    told = [str(line) for line in assumptions(Scenario.from_dict(TINY | {"model": model}))]
    line = "devices hold these 296 parameters from the start; they are never sent"
    assert f"model.frozen: {line}" in told
    own = Scenario.from_dict(TINY | OWN)
    assert f"model.frozen: {line}" in [str(line) for line in assumptions(own)]
    random = ("model", "frozen"), "stays at its random weights, because there is no `weights_file`"
    assert random in list(cautions(Scenario.from_dict(TINY | {"model": model})))
    assert random not in list(cautions(own))  # which may have read them itself
    assert ("model", "frozen") not in dict(cautions(Scenario.from_dict(TINY)))


@pytest.mark.parametrize(
    ("frozen", "problem"),
    [
        (
            ["2.*"],
            "no parameter matches '2.*'; there are 1.weight, 1.bias, 3.weight, 3.bias",
        ),
        (["1.weight", "3"], "no parameter matches '3'; there are"),
        (["*"], "model 'mlp' has no parameters to train"),
    ],
)
def test_patterns_that_freeze_nothing_or_everything_are_refused(
    frozen: list[str], problem: str
) -> None:
    model = {"name": "mlp", "hidden": [8], "frozen": frozen}
    [line] = complaints(Scenario.from_dict(TINY | {"model": model}))
    assert problem in line


def test_all_patterns_that_fit_nothing_are_told_at_once() -> None:
    model = {"name": "mlp", "hidden": [8], "frozen": ["a.*", "1.*", "b"], "reinitialised": ["c"]}
    frozen, reinitialised = complaints(Scenario.from_dict(TINY | {"model": model}))
    assert "model.frozen: no parameter matches 'a.*' or 'b'; there are" in frozen
    assert "model.reinitialised: no parameter matches 'c'; there are" in reinitialised


def test_a_single_pattern(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("data: {dataset: mnist}\nmodel: {name: mlp, frozen: 1.*}\nfleet: {count: 2}\n")
    assert main(["validate", str(path)]) == 2
    assert "s.yaml:2:28: model.frozen: expected a list, got '1.*'" in capsys.readouterr().err


def test_the_vector_is_what_is_trained() -> None:
    model = models.parse({"name": "mlp", "hidden": [8], "frozen": ["*.weight"]})
    whole = models.parse({"name": "mlp", "hidden": [8]})
    module = build(whole, (36,), 10, seed=3)
    biases = [p.detach().numpy() for n, p in module.named_parameters() if n.endswith("bias")]
    assert np.array_equal(initial_params(model, (36,), 10, seed=3), np.concatenate(biases))


@pytest.mark.slow
def test_executors_are_alike(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(TINY, overrides=['model.frozen=["1.*"]'])
    results = [
        run(scenario, tmp_path / name, Options(executor=name, workers=workers))[0]
        for name, workers in (("inline", None), ("processes", 2))
    ]
    for file in ("events.jsonl", "model.pt"):
        one, other = ((result.folder / file).read_bytes() for result in results)
        assert one == other
