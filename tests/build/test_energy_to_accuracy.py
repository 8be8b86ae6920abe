"""Energy: booked as power x time, and told beside time and bytes for each target."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from simfl import run
from simfl.report.comparison.forms import render
from simfl.runs.results.compare import compare
from simfl.runs.results.statistics import Figure
from simfl.scenario import Scenario
from tests.tiny import TINY

POWER = {"download": 1.5, "compute": 4.0, "upload": 2.0}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    scenario = Scenario.from_dict(
        {
            "data": {"dataset": "synthetic"},
            "model": "logistic_regression",
            "fleet": {
                "count": 30,
                "compute": {"distribution": "exponential", "mean": "50 samples/s"},
                "downlink": "1 Mbit/s",
                "uplink": "300 kbit/s",
                "latency": "20 ms",
                "power": {phase: f"{watts} W" for phase, watts in POWER.items()},
            },
            "training": {"epochs": 5, "batch_size": 8, "optimizer": {"lr": 0.02}},
            "rounds": {
                "policy": {"name": "synchronous", "deadline": {"stragglers": "30%"}},
                "stop": {"rounds": 25},
            },
            "evaluation": {"targets": [0.3, 0.99]},
            "seeds": [0, 1],
        }
    )
    return run(scenario, tmp_path_factory.mktemp("runs"))


def test_energy_is_the_integral_of_power(results) -> None:
    clients = results[0].clients
    arrived = clients[clients.outcome == "arrived"]
    ends = arrived[["selected_s", "download_end_s", "compute_end_s", "upload_end_s"]].to_numpy()
    expected = np.diff(ends, axis=1) @ list(POWER.values())
    assert np.allclose(arrived.energy_j, expected, rtol=1e-12)
    assert results[0].rounds.energy_j.sum() == pytest.approx(clients.energy_j.sum(), rel=1e-12)


def test_the_first_crossing_is_priced(results) -> None:
    for result in results:
        told = result.reached(0.3)
        assert told is not None
        known = {name: cost for name, cost in asdict(told).items() if not np.isnan(cost)}
        assert known == pytest.approx(result.summary["targets"]["0.3"])
        first = result.rounds[result.rounds["round"] <= told.round]
        assert told.energy_j == pytest.approx(first.energy_j.sum(), rel=1e-12)


def test_compare_has_a_column_for_it(results) -> None:
    comparison = compare(results)
    cells = {c.key: comparison.cell("default", c) for c in comparison.columns}
    expected = np.mean([result.reached(0.3).energy_j for result in results])
    reached, never = cells["energy_j_to_30%"], cells["energy_j_to_99%"]
    assert isinstance(reached, Figure)
    assert isinstance(never, Figure)
    assert reached.mean == pytest.approx(expected)
    assert never.missing == 2


def test_all_energy_is_told_with_whose_it_is(tmp_path: Path) -> None:
    overrides = ["fleet.power={idle: 1 W, compute: 4 W}"]
    [result] = run(Scenario.from_dict(TINY, overrides=overrides), tmp_path)
    comparison = compare([result])
    told = {c.metric.name: comparison.cell(result.variant, c) for c in comparison.columns}
    totals = result.summary["totals"]
    for name in ("energy_j", "idle_energy_j"):
        figure = told[name]
        assert isinstance(figure, Figure)
        assert figure.mean == pytest.approx(totals[name], rel=1e-12)
        assert totals[name] > 0
    text = render(comparison, "markdown")
    assert "energy at work" in text
    assert "energy idle" in text
