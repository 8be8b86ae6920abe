"""Memory is bounded by the cohort and does not grow with the rounds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json, resource, sys
from pathlib import Path
from simfl import Options, run
from simfl.scenario import Scenario

PAGE = resource.getpagesize()
changes, watched = json.loads(sys.argv[1]), json.loads(sys.argv[2])
seen = {}

def listen(job):
    def note(time_s, kind, facts):
        if kind == "round" and facts["round"] in watched:
            seen[facts["round"]] = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return [note]

run(Scenario.from_dict(changes), Path(sys.argv[3]), Options(), listen=listen)
# Not `ru_maxrss`, which remembers the process that started this one.
peak = 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(json.dumps({"peak": peak, "seen": list(seen.values())}))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc"),
]


def measured(scenario: dict[str, Any], out: Path, rounds: list[int]) -> dict[str, Any]:
    """Run `scenario` in a process of its own: peak memory, and memory as those rounds open."""
    words = [json.dumps(scenario), json.dumps(rounds), str(out)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("policy", [
    {"name": "synchronous", "over_select": "150%", "deadline": "20 s"},
    {"name": "fedbuff", "buffer": 5},
])  # fmt: skip
def test_no_growth_over_500_rounds(tmp_path: Path, policy: dict[str, Any]) -> None:
    scenario = {
        "name": "growth",
        "data": {"dataset": {"name": "generated", "mean_samples": 20, "max_samples": 60}},
        "model": "logistic_regression",
        "fleet": {
            "count": 2000,
            "compute": {"distribution": "lognormal", "median": "20 samples/s", "sigma": 0.5},
            "uplink": "1 Mbit/s",
            "availability": {"name": "on_off", "on": "1 h", "off": "1 h"},
        },
        "network": {"server_downlink": "100 Mbit/s"},
        "training": {"epochs": 2, "batch_size": 10, "optimizer": {"name": "sgd", "lr": 0.1}},
        "rounds": {"clients": 10, "policy": policy, "stop": {"rounds": 600}},
        "evaluation": {"every": 10},
    }
    after_100, after_600 = measured(scenario, tmp_path / "out", [100, 600])["seen"]
    assert after_600 - after_100 < 8 * 2**20


@pytest.mark.data
def test_fashion_mnist_with_1000_clients_fits_in_1500_mb(tmp_path: Path) -> None:
    if not (os.environ.get("SIMFL_DATA") and Path(os.environ["SIMFL_DATA"]).is_dir()):
        pytest.skip("needs Fashion-MNIST: set SIMFL_DATA to torchvision's data folder")
    scenario = {
        "name": "memory",
        "data": {"dataset": "fashion_mnist", "partition": {"name": "dirichlet", "alpha": 0.5}},
        "model": {"name": "mlp", "hidden": [64, 30]},
        "fleet": {"count": 1000},
        "training": {"epochs": 2, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
        "rounds": {"clients": 100, "stop": {"rounds": 5}},
    }
    assert measured(scenario, tmp_path / "out", [])["peak"] < 1.5e9


def test_a_fleet_whose_data_would_not_fit_is_bounded_by_its_cohort(tmp_path: Path) -> None:
    scenario = {
        "name": "memory",
        # 10^5 clients of 2,000 samples of 500 numbers: 400 GB
        "data": {"dataset": {
            "name": "generated", "features": 500, "min_samples": 2000, "max_samples": 2000
        }},
        "model": "logistic_regression",
        "fleet": {"count": 100_000},
        "training": {"steps": 10, "batch_size": 50, "optimizer": {"name": "sgd", "lr": 0.01}},
        "rounds": {"clients": 20, "stop": {"rounds": 5}},
    }  # fmt: skip
    assert measured(scenario, tmp_path / "out", [])["peak"] < 2e9
