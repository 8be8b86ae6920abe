"""Whole runs with FedDyn: what it costs, and that it goes on after an interruption."""

from pathlib import Path
from typing import Any

import pytest

from simfl import Options
from simfl.build.model_facts import memory_to_train
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from tests.runs.resuming import EAGER, FLAKY, Stopped, contents, scenario, stop_after
from tests.tiny import RunTiny

FEDDYN: dict[str, Any] = {"aggregation": "feddyn", "training.proximal": 0.1}


def test_it_costs_the_bytes_of_fedavg(run_tiny: RunTiny) -> None:
    """What corrects a client's gradients is the client's own, and takes a model's memory."""
    fedavg = {**FEDDYN, "aggregation": "fedavg"}
    results = [run_tiny(changes) for changes in (FEDDYN, fedavg)]
    one, other = (result.clients.drop(columns="loss", errors="ignore") for result in results)
    assert one.equals(other)
    assert results[0].rounds["loss"].iloc[-1] != results[1].rounds["loss"].iloc[-1]
    limited = {"fleet.memory": "1 MB"}
    memory = [memory_to_train(scenario({**c, **limited})) for c in (FEDDYN, fedavg)]
    assert memory[0] - memory[1] == 4 * 386


@pytest.mark.parametrize("place", [35, 60])
def test_interrupted_it_comes_out_the_same(tmp_path: Path, place: int) -> None:
    changes = {**FEDDYN, "training.compression": "quantize", "rounds.stop.rounds": 6, **FLAKY}
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario(changes), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(place)])
    assert contents(resume(job.folder, EAGER).folder) == expected
