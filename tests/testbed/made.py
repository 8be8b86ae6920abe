"""Runs, their journals and what is told of a comparison, for tests that need no real ones."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from testbed.errors import errors
from testbed.journals import Run
from testbed.wire import NOTHING

FLOWER_SCENARIO = Path(__file__).parents[2] / "testbed" / "scenarios" / "flower.yaml"
FLOWER_SIZE = 210_000
"""Bytes of its model."""


def made(
    last_s: float = 3.0,
    outcome: str = "arrived",
    wire: tuple[int, ...] = (1, 1, 0, 0, 0),
    by_flower: bool = False,
) -> Run:
    """Return a run of one round and two clients; the second ends at `last_s`."""
    rows = [
        {"client": 0, "upload_end_s": 2.9, "outcome": "arrived"},
        {"client": 1, "upload_end_s": last_s, "outcome": outcome},
    ]
    phases = {"round": 0, "selected_s": 0.0, "download_end_s": 1.0, "compute_end_s": 2.0}
    sizes = {"staleness": 0, "download_bytes": 1000, "upload_bytes": 500}
    clients = pd.DataFrame([phases | sizes | row for row in rows])
    clients = clients.assign(received_s=0.5) if by_flower else clients
    rounds = pd.DataFrame([{"round": 0, "start_s": 0.0, "end_s": max(last_s, 2.9)}])
    return Run(rounds, clients, {"s": wire}, [])


def told(name: str, given: float, calibrated: float, down: float = 0.0) -> dict[str, Any]:
    """Return what the comparison would tell of a scenario whose rounds are so far off."""
    found = asdict(errors(made(), made(), NOTHING, [0])) | {
        "mean_round": given,
        "down": down,
        "up": 0,
    }
    fitted = {"calibrated": found | {"mean_round": calibrated}}
    kept = {"accuracy": {"measured": []}, "rounds": 1, "measured_s": 3.0, "load": [0.1, 2.4]}
    apart = {"mean_round": given, "orders": 1.0, "outcomes": 0.5}
    nearer = {**apart, "mean_round": calibrated}
    again = {"repeated": {**apart, "runs": 3, "furthest": 0.02, "simulated": nearer, "within": 0.5}}
    again["repeated"]["settled"] = 0.96 if name == "fine" else 0.9
    kept["latency_s"] = [1.2e-5, 0.0804]
    kept["shaken"] = {"mean_round": 0.001, "orders": 1.0}
    return {"name": name, "plain": found, "stated": found} | again | fitted | kept


def write_journals(folder: Path, server: Sequence[Any], client: Sequence[Any]) -> None:
    """Write what a server and its only client would note, an event a line."""
    for name, events in (("server", server), ("client-0", client)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
