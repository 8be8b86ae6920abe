"""Scenarios to tune, and a tuning of their clock alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simfl.runs.options import Options
from simfl.runs.tuning.trials import Tuning
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document
from tests.tiny import TINY

LEARNS: dict[str, Any] = {
    **TINY,
    "fleet": {**TINY["fleet"], "count": 12},
    "training": {"epochs": 2, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.1}},
    "rounds": {"clients": 4, "stop": {"rounds": 12}},
    "seeds": [0, 1, 2],
}
CLOCK: dict[str, Any] = {
    "parameters": {
        "rounds.clients": {"min": 2, "max": 8},
        "fleet.uplink": ["1 Mbit/s", "100 kbit/s"],
    },
    "objective": "time",
    "trials": 6,
}
TO_TARGET: dict[str, Any] = {
    "parameters": {"rounds.clients": {"min": 1, "max": 12}},
    "objective": "time to 60%",
    "trials": 6,
}


def document(spec: Mapping[str, Any], **changes: Any) -> Document:
    return Document.of({**LEARNS, **changes, "tune": dict(spec)})


def timed(top: Path, spec: Mapping[str, Any] = CLOCK, **changes: Any) -> Tuning:
    return tune(document(spec, **changes), top, Options(time_only=True, jobs=1))
