"""Runs to fork, and what is looked at in their folders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.run_folders import events
from tests.tiny import TINY

FLEET = {
    **TINY["fleet"],
    "availability": {"name": "on_off", "on": "2 s", "off": "500 ms"},
    "power": {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"},
}
LONG: dict[str, Any] = {**TINY, "fleet": FLEET, "rounds": {"clients": 3, "stop": {"rounds": 8}}}
FEDBUFF = ["rounds.policy={name: fedbuff, buffer: 2, max_staleness: 1}", "aggregation=fedbuff"]
CHANGES = {
    "policy": FEDBUFF,
    "tiers": ["rounds.policy={name: tiered, tiers: 2}", "aggregation={name: fedat, tiers: 2}"],
    "edges": ["rounds.policy={name: hierarchical, edges: 2, latency: 100 ms}"],
    "windows": ["rounds.policy={name: semi_synchronous, period: 1 s}"],
    "asker": ["selection=power_of_choice"],
    "oracle": ["selection=oracle"],
    "training": ["training.epochs=1", "training.optimizer.lr=0.01", "training.workload=coreset"],
    "compression": ["training.compression={name: top_k, share: 10%, error_feedback: true}"],
    "deadline": ["rounds.policy={name: synchronous, deadline: {stragglers: 40%}}"],
    "scaffold": ["aggregation=scaffold"],
}
Ran = Callable[..., Path]


def instant(folder: Path, share: float) -> float:
    """Return an instant between two events, so far through the log."""
    times = sorted({event["t"] for event in events(folder)})
    place = int(share * (len(times) - 1))
    return (times[place] + times[place + 1]) / 2


def until(folder: Path, at_s: float) -> list[str]:
    """Return the log lines up to an instant."""
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [line for line in lines if json.loads(line)["t"] <= at_s]


def shares(there: Path, whole: Path, at_s: float) -> bool:
    """Whether the log of a fork begins with all that happened up to the instant, and goes on."""
    past, lines = until(whole, at_s), (there / "events.jsonl").read_text().splitlines()
    return lines[: len(past)] == past and json.loads(lines[len(past)])["t"] >= at_s
