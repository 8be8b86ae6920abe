"""What comparisons tell of bytes adds up, and is what was moved."""

from typing import Any

import pytest

from simfl.report.results import Results
from tests.run_folders import broken, events
from tests.tiny import RunTiny

ASKS = {"selection": {"name": "power_of_choice", "candidates": 6}}
SCENARIOS: dict[str, dict[str, Any]] = {
    "asks nothing": {},
    "gradients": {"selection": "divfl"},
    "times": {"selection": "tifl"},
    "failures": {**ASKS, "rounds.policy.deadline": "900 ms", "fleet.failures": "30%"},
    "compressed": {**ASKS, "training.compression": {"name": "top_k", "share": "10%"}},
    "filtered": {**ASKS, "training.filter": {"name": "cmfl", "threshold": 0.8}},
    "personal": {
        **ASKS,
        "model.personal": ["3.*"],
        "data.local_validation": 0.25,
        "evaluation.on": "clients",
        "aggregation": "qfedavg",
    },
    "edges": {**ASKS, "rounds.policy": {"name": "hierarchical", "edges": 2, "edge_rounds": 2}},
    "waits": {"rounds.policy": {"name": "fedbuff", "buffer": 2}},
}


@pytest.mark.parametrize("changes", SCENARIOS.values(), ids=SCENARIOS)
def test_bytes_are_those_down_up_and_of_probes(changes: dict[str, Any], run_tiny: RunTiny) -> None:
    """A comparison had bytes, and those down and up, but none of the rest: what selectors ask."""
    result = run_tiny(changes)
    names = ["bytes", "download_bytes", "upload_bytes", "probe_bytes"]
    moved, *parts = Results([result]).compare(columns=names, as_numbers=True).iloc[0][names]
    assert moved == sum(parts)
    log = events(result.folder)
    assert moved == sum(
        event["download_bytes"] + event["upload_bytes"]
        if event["event"] == "participation"
        else event["bytes"]
        for event in log
        if event["event"] in ("participation", "probed", "backhaul")
    )
    assert parts[2] == sum(event["bytes"] for event in log if event["event"] == "probed")
    assert (parts[2] > 0) == any(event["event"] == "probe" for event in log)
    assert broken(result.folder) == []
