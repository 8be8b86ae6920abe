"""Whole runs: determinism, executors, paired randomness, laziness, learning."""

import gc
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import simfl
from simfl import Options, Scenario, run
from simfl.build.builder import Builder
from simfl.coordinators.ledger import Ledger
from simfl.core.work import WorkOrder, WorkResult
from simfl.errors import InputError
from simfl.training.data import Partitioned
from simfl.training.executors.base import executors
from tests.run_folders import computed, events
from tests.tiny import TINY, RunTiny

DEADLINE = {"rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "50%"}}}
TABLE = {"data": {"dataset": {"name": "synthetic", "clients": 8}}}


def test_two_runs_are_equal_byte_for_byte(run_tiny: RunTiny) -> None:
    assert computed(run_tiny(DEADLINE).folder) == computed(run_tiny(DEADLINE).folder)


def test_another_seed_is_another_run(run_tiny: RunTiny) -> None:
    assert computed(run_tiny({"seed": 1}).folder) != computed(run_tiny({"seed": 2}).folder)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_workers_change_no_byte(run_tiny: RunTiny, workers: int) -> None:
    processes = Options(executor="processes", workers=workers)
    assert computed(run_tiny(DEADLINE).folder) == computed(run_tiny(DEADLINE, processes).folder)


def test_changing_the_selector_leaves_everything_else_as_it_was(run_tiny: RunTiny) -> None:
    """Speeds, outages, data and the initial model are paired between policies."""
    flaky = {"fleet.availability": {"name": "on_off", "on": "60 s", "off": "20 s"}}
    one, other = run_tiny(flaky), run_tiny({**flaky, "selection": "round_robin"})
    built = [
        Builder(
            Scenario.load(result.folder / "scenario.yaml"), None, True, executors.parse("inline")
        )
        for result in (one, other)
    ]
    everyone = np.arange(8)
    for now in np.linspace(0, 3600, 50):
        here, there = (b.fleet.online(everyone, now) for b in built)
        assert np.array_equal(here, there)
    assert np.array_equal(built[0].fleet.rate, built[1].fleet.rate)
    labels = [b.federation.label_counts for b in built]
    assert labels[0] is not None
    assert labels[1] is not None
    assert np.array_equal(labels[0], labels[1])
    assert (
        events(one.folder, "selected")[0]["clients"]
        != events(other.folder, "selected")[0]["clients"]
    )


def test_dropped_work_is_never_computed(run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[tuple[int, int]] = []
    collect = Ledger.collect

    def spy(ledger: Ledger, orders: list[WorkOrder]) -> list[WorkResult]:
        results = collect(ledger, orders)
        computed.extend(result.order.key for result in results)
        return list(results)

    monkeypatch.setattr(Ledger, "collect", spy)
    result = run_tiny(DEADLINE)
    trainings = result.summary["trainings"]
    assert trainings["dropped"] > 0
    assert trainings["computed"] == trainings["issued"] - trainings["dropped"] == len(computed)
    assert len(computed) == (result.clients.outcome == "arrived").sum()


def test_real_training_learns(run_tiny: RunTiny) -> None:
    result = run_tiny({"rounds.stop.rounds": 15})
    assert result.summary["final_accuracy"] > 0.5  # ten classes


def test_model_file_is_a_state_dict_of_the_model(run_tiny: RunTiny) -> None:
    state = torch.load(run_tiny().folder / "model.pt", weights_only=True)
    assert [tuple(tensor.shape) for tensor in state.values()] == [(8, 36), (8,), (10, 8), (10,)]


def test_a_resolved_scenario_runs_to_the_same_bytes(run_tiny: RunTiny, tmp_path: Path) -> None:
    result = run_tiny(DEADLINE)
    [again] = run(Scenario.load(result.folder / "scenario.yaml"), tmp_path / "again")
    assert computed(again.folder) == computed(result.folder)


def test_compression_shrinks_bytes_and_changes_the_model(run_tiny: RunTiny) -> None:
    plain, half = run_tiny(), run_tiny({"training.compression": "float16"})
    assert 2 * half.summary["totals"]["upload_bytes"] == plain.summary["totals"]["upload_bytes"]
    assert half.summary["totals"]["download_bytes"] == plain.summary["totals"]["download_bytes"]
    assert computed(plain.folder)["model.pt"] != computed(half.folder)["model.pt"]
    assert half.summary["virtual_time_s"] < plain.summary["virtual_time_s"]


@pytest.mark.parametrize(
    "several", [{"seeds": "0-2"}, {"variants": {"one": {}, "two": {"data.partition": "iid"}}}]
)
def test_a_run_leaves_no_data_behind(several: dict[str, Any], tmp_path: Path) -> None:
    """Many seeds and variants of a large data set must fit where one does."""

    def held() -> int:
        # By `type`: `isinstance` would ask objects of other libraries, which warn.
        every = gc.get_objects()
        return sum(type(item) is Partitioned and len(item.samples) > 0 for item in every)

    gc.collect()
    before = held()
    run(Scenario.from_dict({**TINY, **several}), tmp_path)
    assert held() == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "logistic_regression", "selection": "k_dpp"}, "'k_dpp' needs profiles"),
        ({"model": "fedcore_lstm", **TABLE}, "'fedcore_lstm' takes tokens"),
        (
            {
                "model": "logistic_regression",
                "data.dataset": "generated",
                "selection": {"name": "oracle", "goal": "balanced"},
            },
            "'oracle' needs everybody's label counts",
        ),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_written(
    run_tiny: RunTiny, tmp_path: Path, changes: dict, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        run_tiny(changes)
    assert not list(tmp_path.rglob("*"))


def test_a_run_says_which_commit_made_it(run_tiny: RunTiny) -> None:
    root = Path(simfl.__file__).parents[1]
    if not (root / ".git").exists():
        pytest.skip("simfl is not run from a checkout")
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True)
    assert commit.startswith(run_tiny().provenance["commit"].removesuffix("-dirty"))
