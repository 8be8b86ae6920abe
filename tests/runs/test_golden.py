"""Golden event logs: tiny time-only runs whose every event is written down.

``make golden`` rewrites them; read the diff like code.  The scenarios draw nothing that goes
through a logarithm or the like, whose last bit differs between processors.
"""

import os
from pathlib import Path

import pytest

from simfl import Options, Scenario, run

GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


def test_there_are_golden_scenarios() -> None:
    assert len(SCENARIOS) >= 6


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_event_log_is_the_golden_one(tmp_path: Path, name: str) -> None:
    scenario = Scenario.load(GOLDEN / f"{name}.yaml")
    [result] = run(scenario, tmp_path, Options(time_only=True))
    found = (result.folder / "events.jsonl").read_text()
    golden = GOLDEN / f"{name}.jsonl"
    if os.environ.get("SIMFL_GOLDEN") == "write":
        golden.write_text(found)
    assert found.splitlines() == golden.read_text().splitlines()
