"""What tests of the whole share: tiny scenarios, run in a temporary folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Result, Scenario, run

TINY: dict[str, Any] = {
    "name": "tiny",
    "data": {
        "dataset": {"name": "synthetic_images", "samples": 240, "test_samples": 60, "size": 6}
    },
    "model": {"name": "mlp", "hidden": [8]},
    "fleet": {
        "count": 8,
        "compute": {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.5},
        "uplink": "1 Mbit/s",
        "latency": "10 ms",
    },
    "training": {"epochs": 2, "batch_size": 8},
    "rounds": {"clients": 4, "stop": {"rounds": 4}},
}

RunTiny = Callable[..., Result]


@pytest.fixture
def run_tiny(tmp_path: Path) -> RunTiny:
    """Run `TINY` with changes such as ``{"rounds.clients": 3}``; return its only result."""
    count = 0

    def call(changes: Mapping[str, Any] | None = None, options: Options | None = None) -> Result:
        nonlocal count
        count += 1
        overrides = [f"{path}={_yaml(value)}" for path, value in (changes or {}).items()]
        scenario = Scenario.from_dict(TINY, overrides=overrides)
        [result] = run(scenario, tmp_path / f"run-{count}", options)
        return result

    return call


def _yaml(value: Any) -> str:
    import json

    return json.dumps(value)
