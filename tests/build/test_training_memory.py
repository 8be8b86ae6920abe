"""What training takes of memory, against closed forms; who has too little refuses, once."""

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from simfl import run
from simfl.components.local_training import LocalTraining
from simfl.components.models.base import models
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.base import Optimizer
from simfl.components.optimizers.sgd import Sgd
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from simfl.training.flat import Layout
from simfl.training.memory import saved_bytes, training_bytes
from tests.run_folders import events

CONSTANT = 64
"""Bytes that may be saved once, whatever the batch."""


def local(
    batch_size: int, optimizer: Optimizer | None = None, proximal: float = 0
) -> LocalTraining:
    return LocalTraining(batch_size, optimizer or Sgd(lr=0.1), proximal=proximal)


@pytest.mark.parametrize("hidden", [[64, 30], [10], []])
@pytest.mark.parametrize("batch", [1, 2, 32])
def test_an_mlp_keeps_its_inputs_hidden_outputs_and_probabilities(
    hidden: list[int], batch: int
) -> None:
    module = models.parse({"name": "mlp", "hidden": hidden}).build((28, 28), 10)
    p = Layout.of(module).size
    sample = 4 * (784 + sum(hidden) + 10) + 8  # the label is an int64
    found = training_bytes(module, (28, 28), local(batch))
    assert 0 <= found - (2 * 4 * p + batch * sample) <= CONSTANT


def test_what_keeps_copies_of_the_model() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    plain = training_bytes(module, (8,), local(4))
    heavy = Sgd(momentum=0.9)
    assert training_bytes(module, (8,), local(4, heavy)) == plain + 4 * 27
    assert training_bytes(module, (8,), local(4, Adam())) == plain + 8 * 27
    assert training_bytes(module, (8,), local(4), corrections=2) == plain + 8 * 27
    assert training_bytes(module, (8,), local(4, heavy, proximal=1)) == plain + 8 * 27


def test_a_convolution_keeps_its_input_and_its_rectified_output() -> None:
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    sample = 4 * (64 + 4 * 36 + 2) + 8
    assert saved_bytes(module, (1, 8, 8), 3) - saved_bytes(module, (1, 8, 8), 2) == sample


def test_dropout_draws_nothing_of_anybody_elses() -> None:
    import torch

    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    before = torch.get_rng_state()
    saved_bytes(module, (4,), 5)
    assert bool((torch.get_rng_state() == before).all())


def simulate(folder: Path, fleet: list[dict[str, Any]], **rounds: Any) -> RunResult:
    scenario = Scenario.from_dict(
        {
            "data": {"dataset": "synthetic"},
            "model": {"name": "mlp", "hidden": [100]},
            "fleet": fleet,
            "rounds": {"clients": 10, "stop": {"rounds": 12}, **rounds},
        }
    )
    return run(scenario, folder, Options(time_only=True))[0]


def test_small_devices_refuse_once_and_are_counted(tmp_path: Path) -> None:
    small = {"name": "small", "count": 10, "memory": "10 kB", "compute": "1 samples/s"}
    result = simulate(tmp_path, [small, {"name": "large", "count": 20, "memory": "1 GB"}])
    clients = result.clients
    refused = clients[clients.group == "small"]
    assert set(refused.outcome) == {"skipped"}
    assert refused.client.is_unique
    assert result.summary["refused_memory"] == len(refused) > 3
    assert refused[["download_bytes", "upload_bytes"]].to_numpy().sum() == 0
    told = events(result.folder, "refused")
    assert {event["reason"] for event in told} == {"memory"}
    assert {event["needs_bytes"] > 10_000 for event in told} == {True}
    assert (result.rounds.arrived > 0).all()


@pytest.mark.parametrize("policy", ["synchronous", "fedbuff"])
@pytest.mark.parametrize("availability", ["always", {"name": "on_off", "on": "1 h", "off": "1 h"}])
def test_a_run_ends_when_everybody_has_refused(
    tmp_path: Path, policy: str, availability: Any
) -> None:
    fleet = [{"count": 30, "memory": "1 kB", "availability": availability}]
    result = simulate(tmp_path, fleet, policy=policy, stop={"rounds": 1000})
    assert result.summary["refused_memory"] == 30
    assert result.summary["participations"] == {"skipped": 30}


def test_unlimited_memory_changes_nothing(tmp_path: Path) -> None:
    plain = simulate(tmp_path / "plain", [{"count": 30}])
    ample = simulate(tmp_path / "ample", [{"count": 30, "memory": "1 TB"}])
    digests = [one.summary["events_sha256"] for one in (plain, ample)]
    assert digests[0] == digests[1]
