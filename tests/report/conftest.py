"""Runs to report on, made once."""

from pathlib import Path

import pytest

from simfl import run
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario

SCENARIO = {
    "name": "reported",
    "description": "a fleet with <slow> & offline devices",
    "data": {"dataset": {"name": "synthetic", "alpha": 1, "beta": 1}},
    "model": "logistic_regression",
    "fleet": [
        {
            "name": "phones",
            "count": 20,
            "compute": {
                "distribution": "normal",
                "mean": "100 samples/s",
                "std": "25 samples/s",
                "min": "20 samples/s",
            },
            "downlink": "1 Mbit/s",
            "uplink": "20 kbit/s",
            "latency": "20 ms",
            "availability": {"name": "on_off", "on": "40 s", "off": "20 s"},
            "on_offline": "pause",
            "power": {"compute": "4 W", "upload": "2 W"},
        },
        {"name": "boards", "count": 10, "compute": "30 samples/s"},
    ],
    "training": {"epochs": 2, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.01}},
    "rounds": {
        "clients": 6,
        "policy": {"name": "synchronous", "deadline": {"stragglers": "30%"}},
        "stop": {"rounds": 5},
    },
    "evaluation": {"every": 1, "targets": [0.2, 0.99]},
}


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[RunResult]:
    """Two variants with two seeds each, trained."""
    variants = {"waits": {"rounds.policy.deadline": "none"}, "drops": {}}
    scenario = Scenario.from_dict(SCENARIO | {"variants": variants, "seeds": [0, 1]})
    return run(scenario, tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="session")
def timed(tmp_path_factory: pytest.TempPathFactory) -> list[RunResult]:
    """One run of every kind of policy, and one with probes; nothing is trained."""
    variants = {
        "synchronous": {},
        "salvage": {"fleet[0].on_offline": "salvage"},
        "abort": {"fleet[0].on_offline": "abort"},
        "fedbuff": {"rounds.policy": {"name": "fedbuff", "buffer": 3}},
        "fedasync": {"rounds.policy": "fedasync"},
        "semi_synchronous": {"rounds.policy": {"name": "semi_synchronous", "period": "20 s"}},
        "tiered": {"rounds.policy": {"name": "tiered", "tiers": 2}},
        "hierarchical": {"rounds.policy": {"name": "hierarchical", "edges": 2, "latency": "2 s"}},
    }
    scenario = Scenario.from_dict(SCENARIO | {"variants": variants})
    return run(scenario, tmp_path_factory.mktemp("timed"), Options(time_only=True))


@pytest.fixture(scope="session")
def probed(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run whose selector asks for losses before it chooses."""
    scenario = Scenario.from_dict(SCENARIO | {"selection": "power_of_choice"})
    return run(scenario, tmp_path_factory.mktemp("probed"))[0]


@pytest.fixture
def broken_off(compared: list[RunResult], tmp_path: Path) -> RunResult:
    """A run that was killed: no summary, and half a line at the end of each file."""
    from shutil import copytree

    source = compared[-1].folder
    folder = tmp_path / source.parent.name / source.name
    copytree(source, folder)
    for name in ("summary.json", "model.pt", "report.html", "trace.json"):
        (folder / name).unlink(missing_ok=True)
    for name in ("rounds.csv", "clients.csv", "events.jsonl"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        half = lines[len(lines) // 2]
        (folder / name).write_text("".join(lines[: len(lines) // 2]) + half[: len(half) // 2])
    return RunResult(folder)
