"""Runs in processes of their own, which are killed at random moments."""

import multiprocessing
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simfl import Options, Scenario
from simfl.cli.errors import guarded
from simfl.runs.folder.checkpoint import FILE
from simfl.runs.folder.folder import is_finished, is_run
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from tests.reliability.disks import die_writing
from tests.tiny import TINY

FLEET = {
    **TINY["fleet"],
    "availability": {"name": "on_off", "on": "2 s", "off": "500 ms"},
    "power": {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"},
}
FEEDBACK = {"name": "top_k", "share": "10%", "error_feedback": True}
SCENARIOS: dict[str, dict[str, Any]] = {
    "synchronous": {"selection": "oort", "aggregation": "fedadam"},
    "deadline": {
        "rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "40%"}},
        "selection": "afl",
        "training.compression": FEEDBACK,
    },
    "carried": {
        "rounds.policy": {
            "name": "synchronous", "deadline": {"stragglers": "50%"}, "late": "carry",
        },
        "selection": "k_dpp",
        "aggregation": "fedavgm",
        "fleet.on_offline": "pause",
    },
    "windows": {
        "rounds.policy": {"name": "semi_synchronous", "period": {"stragglers": "50%"}},
        "selection": "tifl",
        "fleet.on_offline": "salvage",
    },
    "buffered": {
        "rounds.policy": {"name": "fedbuff", "buffer": 2, "max_staleness": 3},
        "aggregation": "fedbuff",
        "training.compression": {"name": "quantize", "bits": 4, "error_feedback": True},
    },
    "asynchronous": {
        "rounds.policy": {"name": "fedasync", "concurrency": 3, "server_time": "50 ms"},
        "selection": "power_of_choice",
        "aggregation": "fedasync",
    },
    "tiers": {
        "rounds.policy": {"name": "tiered", "tiers": 2},
        "selection": "fedcor",
        "aggregation": "fedat",
    },
    "scaffold": {"aggregation": "scaffold", "selection": "round_robin"},
    "clustered": {"selection": "clustered", "aggregation": "fedyogi"},
    "batteries": {
        "fleet.battery": {"capacity": "60 J", "charge": "10 W"},
        "selection": "fedacs",
        "aggregation": "fedadagrad",
    },
    "shared link": {
        "network": {"server_uplink": "300 kbit/s", "server_downlink": "200 kbit/s"},
        "selection": "fedsae",
        "training.filter": {"name": "cmfl", "threshold": 0.55},
        "rounds.stop.time": "60 s",
    },
    "two workers": {"selection": "divfl", "aggregation": "fednova"},
}  # fmt: skip
OTHERS = (signal.SIGTERM, signal.SIGINT)
"""Signals of every fourth case; all others are killed."""

# Children are forked off a process that has imported everything already, so that what is hit is the
# run and not its imports, which would take many times longer.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([
    __name__, "simfl.components", "simfl.build.builder", "simfl.coordinators.training",
    "simfl.training.local", "simfl.training.evaluate", "torch._dynamo", "torch.utils.serialization",
    "scipy.special", "scipy.linalg", "scipy.spatial.distance", "scipy.cluster.hierarchy",
])  # fmt: skip


def scenario(name: str, rounds: int = 12) -> Scenario:
    """Return one of the scenarios."""
    import json

    changes = {"rounds.stop": {"rounds": rounds}, **SCENARIOS[name]}
    overrides = [f"{path}={json.dumps(value)}" for path, value in changes.items()]
    return Scenario.from_dict({**TINY, "fleet": FLEET}, overrides=overrides)


def options(name: str) -> Options:
    """Return how a scenario is run; with a checkpoint at every event that allows one."""
    if name == "two workers":
        return Options("processes", 2, checkpoint_every_s=0.0)
    return Options("inline", checkpoint_every_s=0.0)


def go_on(name: str, folder: Path) -> int:
    """Run, or go on with, one of the scenarios; return the exit code of the command line."""

    def call() -> int:
        if is_run(folder):
            resume(folder, options(name))
        else:
            run_one(Job("default", scenario(name), folder), options(name))
        return 0

    return guarded(call)


@dataclass(frozen=True)
class Blow:
    """How a run is ended.

    Attributes:
        after_s: host seconds after it was begun, or gone on with.
        signal: with what.
        inside: half-way through which write of a checkpoint instead, from 1 (0: none).
    """

    after_s: float
    signal: signal.Signals
    inside: int = 0


def _child(name: str, folder: Path, inside: int = 0) -> None:
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (its last words are of no interest)
    if inside:
        die_writing(f".{FILE}.partial", inside)
    sys.exit(go_on(name, folder))


def lasting(name: str, folder: Path) -> float:
    """Run one of the scenarios in a process of its own; return how long it took, seconds."""
    began, process = time.monotonic(), _start(name, folder)
    process.join()
    assert process.exitcode == 0
    return time.monotonic() - began


def killed(name: str, folder: Path, blow: Blow) -> bool:
    """Run or go on, and end it so; return whether that came before the end."""
    process = _start(name, folder, blow.inside)
    process.join(None if blow.inside else blow.after_s)
    if process.exitcode is None:
        assert process.pid is not None
        os.kill(process.pid, blow.signal)
    process.join(120)
    ended = {0: "done", -signal.SIGKILL: "", -signal.SIGTERM: "", 130: ""}
    assert process.exitcode in ended, process.exitcode
    finished = is_finished(folder)
    assert finished or process.exitcode != 0  # a blow may fall between the last write and the exit
    return not finished


def _start(name: str, folder: Path, inside: int = 0) -> Any:
    process = _CONTEXT.Process(target=_child, args=(name, folder, inside))
    process.start()
    return process


def blows(number: int, lasts_s: float) -> list[Blow]:
    """Return how the `number`-th case is ended; every third twice, every tenth in a write."""
    rng, turn = np.random.default_rng(number), number + number // len(SCENARIOS)
    return [
        Blow(
            float(rng.uniform(0, lasts_s)),
            OTHERS[rng.integers(len(OTHERS))] if turn % 4 == 3 else signal.SIGKILL,
            int(rng.integers(1, 8)) if turn % 10 == 0 else 0,
        )
        for _ in range(2 if turn % 3 == 0 else 1)
    ]
