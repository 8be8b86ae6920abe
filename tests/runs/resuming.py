"""Runs to be interrupted: scenarios of every kind, what stops them, what they should come to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import PrivateAttr

from simfl import Options, Scenario
from simfl.components.filters.base import Update, UpdateFilter
from simfl.coordinators.base import PERSONAL
from tests.tiny import TINY

FILES = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt", "scenario.yaml")
EAGER = Options(checkpoint_every_s=0.0)
FLAKY = {"fleet.availability": {"name": "on_off", "on": "40 s", "off": "10 s"}}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "deadline": {
        "rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "50%"}}, **FLAKY
    },
    "carry": {
        "rounds.policy": {
            "name": "synchronous", "deadline": {"stragglers": "60%"}, "late": "carry",
            "over_select": "150%",
        },
        "aggregation": "fedbuff",
    },
    "power_of_choice": {"selection": "power_of_choice", "aggregation": "fedavgm"},
    "scaffold": {"aggregation": "scaffold", "rounds.stop.rounds": 6, **FLAKY},
    "afl": {"selection": "afl", "aggregation": "fedadam", **FLAKY},
    "fedbuff": {
        "rounds.policy": {"name": "fedbuff", "buffer": 2, "max_staleness": 3},
        "aggregation": "fedbuff",
        "rounds.stop.rounds": 9,
        **FLAKY,
    },
    "fedasync": {
        "rounds.policy": {"name": "fedasync", "concurrency": 3, "server_time": "500 ms"},
        "selection": "power_of_choice",
        "aggregation": "fedasync",
        "rounds.stop.rounds": 9,
    },
    "semi_synchronous": {
        "rounds.policy": {"name": "semi_synchronous", "period": {"stragglers": "50%"}},
        "selection": "afl",
        "fleet.on_offline": "salvage",
        "aggregation": "fedbuff",
        **FLAKY,
    },
    "tiered": {
        "rounds.policy": {"name": "tiered", "tiers": 2},
        "aggregation": {"name": "fedat", "tiers": 2},
        "rounds.stop.rounds": 8,
    },
    "hierarchical": {
        "rounds.policy": {"name": "hierarchical", "edges": 2, "deadline": {"stragglers": "30%"}},
        "selection": "power_of_choice",
        "training.compression": {"name": "top_k", "share": "20%", "error_feedback": True},
        **FLAKY,
    },
    "filter": {
        "training.filter": {"name": "cmfl", "threshold": 0.7},
        "rounds.policy": {"name": "fedbuff", "buffer": 2},
        "training.compression": "quantize",
        "aggregation": "fedbuff",
        "rounds.stop.time": "1 h",
        **FLAKY,
    },
    "failing": {  # failures and jitter know how often something was done
        "fleet.failures": "30%",
        "fleet.compute_jitter": {"sigma": 0.4},
        "fleet.on_offline": "pause",
        "rounds.policy": {
            "name": "synchronous", "deadline": {"stragglers": "30%"}, "min_updates": 2
        },
        "selection": "power_of_choice",
        **FLAKY,
    },
    "private": {
        "fleet.failures": "20%",
        "aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 2},
        "rounds.stop": {"epsilon": 4.5, "rounds": 30},
        "evaluation.targets": ["5%"],
    },
    "with_frozen_layers": {"model.frozen": ["1.*"], "aggregation": "fedadam"},
    "with_personal_layers": {
        "model.personal": ["3.*"],
        "data.local_validation": "20%",
        "evaluation.on": "clients",
        "rounds.policy": {"name": "fedbuff", "buffer": 3, "concurrency": 6},
        "aggregation": "fedbuff",
        **FLAKY,
    },
    "server_filter": {
        "training.filter": "tests.runs.resuming:EveryOther",
        "training.compression": {"name": "top_k", "share": "20%", "error_feedback": True},
    },
}  # fmt: skip


class EveryOther(UpdateFilter):
    """Lets every other update through: it has to remember how many there were."""

    _seen: int = PrivateAttr(0)

    @property
    def stage(self) -> Literal["server"]:
        return "server"

    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        self._seen += 1
        return self._seen % 2 == 1


class Stopped(Exception):
    """What interrupts a run here."""


def scenario(changes: Mapping[str, Any]) -> Scenario:
    import json

    return Scenario.from_dict(
        TINY, overrides=[f"{path}={json.dumps(value)}" for path, value in changes.items()]
    )


def stop_after(events: int, error: type[BaseException] = Stopped):
    """Return a listener that raises once so many events were noted."""
    seen = 0

    def listen(time_s: float, kind: str, facts: dict[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == events:
            raise error

    return listen


def contents(folder: Path) -> dict[str, bytes]:
    personal = [name for name in (PERSONAL,) if (folder / name).exists()]
    return {name: (folder / name).read_bytes() for name in (*FILES, *personal)}
