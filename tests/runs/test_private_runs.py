"""Whole runs with DP-FedAvg: where the noise comes from, and who may compute them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simfl import Options, RunResult, Scenario
from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.aggregators.fedavg import FedAvg
from simfl.coordinators.guarded_aggregator import GuardedAggregator
from simfl.core.seeds import Seeds
from simfl.errors import ComponentError, ScenarioError
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from simfl.training.executors.sums import Sum
from tests.run_folders import computed
from tests.runs.interruptions import EAGER
from tests.runs.resuming import Stopped, stop_after
from tests.tiny import TINY, RunTiny

ONE_ROUND = {"rounds.stop": {"rounds": 1}}
FILES = ("events.jsonl", "rounds.csv", "clients.csv", "model.pt")


def private(noise: float) -> dict[str, Any]:
    return {"aggregation": {"name": "dp_fedavg", "clip": 0.5, "noise_multiplier": noise}}


def model(result: RunResult) -> np.ndarray:
    parts = torch.load(result.folder / "model.pt", weights_only=True).values()
    return np.concatenate([part.numpy().ravel() for part in parts])


def test_the_noise_is_the_rounds_own_stream(run_tiny: RunTiny) -> None:
    """Of the run's seed, over the four clients that a round wants."""
    clean, noisy = (model(run_tiny({**private(noise), **ONE_ROUND})) for noise in (0, 2))
    drawn = Seeds(0).stream("aggregation", 1).standard_normal(len(clean))
    assert noisy - clean == pytest.approx(2 * 0.5 / 4 * drawn, abs=1e-6)


def test_a_clip_that_adapts_is_resumed(tmp_path: Path) -> None:
    adaptive = {"name": "dp_fedavg_adaptive", "noise_multiplier": 1, "count_noise": 2}
    scenario = Scenario.from_dict({**TINY, "aggregation": adaptive})
    whole = run_one(Job("default", scenario, tmp_path / "whole"), EAGER)
    cut = Job("default", scenario, tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(cut, EAGER, listeners=[stop_after(70)])
    gone_on = resume(cut.folder)
    assert computed(gone_on.folder) == computed(whole.folder)
    clips = [np.load(run.folder / "aggregator.npz")["clip"].tolist() for run in (whole, gone_on)]
    assert clips[0] == clips[1]
    assert len(clips[0]) == 5


def test_noise_moves_no_other_random_number(run_tiny: RunTiny) -> None:
    clean, noisy = (run_tiny(private(noise)) for noise in (0, 2))
    assert clean.clients.drop(columns="loss", errors="ignore").equals(
        noisy.clients.drop(columns="loss", errors="ignore")
    )
    assert not np.array_equal(model(clean), model(noisy))


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_whoever_trains_no_byte_changes(run_tiny: RunTiny, executor: str) -> None:
    if executor == "ray":
        pytest.importorskip("ray")
    options = Options(), Options(executor=executor, workers=2)
    runs = [run_tiny(private(1), each) for each in options]
    for name in FILES:
        assert len({(result.folder / name).read_bytes() for result in runs}) == 1


def test_sums_that_others_made_get_the_same_noise() -> None:
    class Noisy(FedAvg):
        def perturb(self, model, rng):
            return model + rng.normal(size=len(model)).astype(np.float32)

    start, total = np.zeros(5, dtype=np.float32), np.arange(5.0)
    guarded = GuardedAggregator(Noisy(), Seeds(4))
    made = [guarded.next_model(start, [], Sum(total, [], []), round_) for round_ in (1, 2, 1)]
    drawn = Seeds(4).stream("aggregation", 1).normal(size=5)
    assert made[0] == pytest.approx(total + drawn, rel=1e-6)
    assert made[0].tobytes() == made[2].tobytes() != made[1].tobytes()


def test_noise_beyond_float32_is_told_once() -> None:
    """As an error, without a warning of NumPy's before it: pytest makes errors of those."""
    private = DpFedAvg(clip=1e30, noise_multiplier=1e30)
    private.prepare(Scenario.from_dict(TINY).training.local(), 8, 4)
    start = np.zeros(5, dtype=np.float32)
    with pytest.raises(ComponentError, match=r"in round 1: .* 5 that are not finite"):
        GuardedAggregator(private, Seeds(0)).next_model(start, [], Sum(start, [], []), 1)


@pytest.mark.parametrize("policy", ["fedbuff", "fedasync", "tiered"])
def test_policies_without_a_known_number_of_updates_are_refused(policy: str) -> None:
    changes = {**private(1), "rounds.policy": policy}
    overrides = [f"{path}={json.dumps(value)}" for path, value in changes.items()]
    with pytest.raises(ScenarioError, match="aggregation: aggregator 'dp_fedavg' needs rounds of"):
        Scenario.from_dict(TINY, overrides=overrides)
