"""Runs to explain, and what of their explanation says what would have helped."""

from pathlib import Path
from typing import Any

from simfl import run
from simfl.runs.explain import Explanation
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from tests.tiny import TINY


def made(top: Path, **changes: Any) -> RunResult:
    return run(Scenario.from_dict({**TINY, **changes}), top, Options(time_only=True))[0]


def known(told: Explanation) -> dict[str, float]:
    return {c.change.name: c.time_s for c in told.what_if.cases if not c.why_not}


def why_not(told: Explanation) -> dict[str, str]:
    return {c.change.name: c.why_not for c in told.what_if.cases if c.why_not}


def by_deadline(top: Path, **policy: Any) -> RunResult:
    fleet = [
        {"name": "quick", "count": 4, "compute": "400 samples/s"},
        {"name": "thinks", "count": 2, "compute": "2 samples/s"},
        {"name": "sends", "count": 2, "compute": "400 samples/s", "uplink": "1 kbit/s"},
    ]
    timed = policy if "period" in policy else {"deadline": "5 s"} | policy
    rounds = {"clients": 8, "stop": {"rounds": 3}, "policy": timed}
    return made(top, fleet=fleet, rounds=rounds)
