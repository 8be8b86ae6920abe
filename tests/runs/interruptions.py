"""Every state in which a run's folder can be left, by however many interruptions.

A resumed run is a function of what its folder holds.  So it is enough to resume from every state
that the folder of an uninterrupted run goes through, and from every further state that those
resumed runs leave: the second interruption, the third and the hundredth are among them.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simfl import Options, Scenario
from simfl.runs.folder.folder import CHECKPOINT, CLIENTS, EVENTS, ROUNDS
from simfl.runs.folder.lock import LOCK
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from tests.run_folders import computed

GROWING = (EVENTS, ROUNDS, CLIENTS)
EAGER = Options(checkpoint_every_s=0.0)
"""A checkpoint at every event that allows one."""

State = tuple[tuple[str, bytes], ...]
"""Names and contents of all files of a folder."""

WITH_EDGES: tuple[Any, ...] = ({"name": "hierarchical", "edges": 2, "latency": "50 ms"},)
POLICIES: tuple[Any, ...] = (
    "synchronous",
    {"name": "synchronous", "deadline": {"stragglers": "50%"}},
    {"name": "synchronous", "deadline": {"stragglers": "60%"}, "late": "carry"},
    {"name": "semi_synchronous", "period": {"stragglers": "50%"}},
    {"name": "fedbuff", "buffer": 2, "max_staleness": 3},
    {"name": "fedasync", "concurrency": 3, "server_time": "50 ms"},
    {"name": "tiered", "tiers": 2},
    *WITH_EDGES,
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "selection": ("uniform", "power_of_choice", "afl", "oort", "tifl", "round_robin"),
    "aggregation": ("fedavg", "fedavgm", "fedadam", "fedbuff", "fednova"),
    "training.compression": (
        "none", "quantize", {"name": "top_k", "share": "10%", "error_feedback": True},
    ),
    "training.filter": ("none", "none", {"name": "cmfl", "threshold": 0.6}),
    "fleet.on_offline": ("abort", "salvage", "pause"),
    "fleet.availability": ("always", {"name": "on_off", "on": "2 s", "off": "500 ms"}),
}  # fmt: skip


def random_scenario(number: int, tiny: dict[str, Any], rounds: int) -> Scenario:
    """Return the `number`-th scenario: policies, selectors, aggregators and the rest, mixed."""
    rng = np.random.default_rng(number)
    chosen = {path: values[rng.integers(len(values))] for path, values in CHOICES.items()}
    policy = POLICIES[rng.integers(len(POLICIES))]
    if policy in WITH_EDGES:  # which average models, and nothing else
        chosen |= {"aggregation": "fedavg", "training.filter": "none"}
    chosen["rounds.policy"] = policy
    chosen |= {"rounds.stop": {"rounds": rounds, "time": "4 s"}, "rounds.clients": 3}
    overrides = [f"{path}={json.dumps(value)}" for path, value in chosen.items()]
    return Scenario.from_dict({**tiny, "seed": number}, overrides=overrides)


def held(folder: Path) -> State:
    """Return everything that `folder` holds."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    return tuple((str(path.relative_to(folder)), path.read_bytes()) for path in paths)


def restore(folder: Path, state: State) -> None:
    """Make a folder that holds `state`."""
    (folder / CHECKPOINT).mkdir(parents=True)
    for name, data in state:
        (folder / name).write_bytes(data)


class Watcher:
    """Keeps every state that a run's folder may be left in: killed, or failing, at an event.

    Args:
        folder: the run's; it holds what a former run recorded, if anything.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts = dict.fromkeys(GROWING, 1) | {EVENTS: 0}
        self._seen: list[tuple[State, dict[str, int]]] = []

    def listen(self, _time_s: float, kind: str, _facts: dict[str, Any]) -> None:
        """Take note of one event."""
        for name, counted in ((EVENTS, kind), (CLIENTS, "participation"), (ROUNDS, "round_end")):
            self._counts[name] += kind == counted
        self._seen.append((held(self._folder), dict(self._counts)))

    def states(self, ended: Mapping[str, bytes]) -> Iterator[State]:
        """Yield the states, given what the run's files come to hold.

        A killed run leaves what is on the disk, one that fails writes whole lines before it ends.
        """
        for killed, counts in self._seen:
            yield killed
            written = dict(killed)
            for name, count in counts.items():
                cut = b"".join(ended[name].splitlines(keepends=True)[:count])
                written[name] = max(written[name], cut, key=len)
            yield tuple(written.items())


def resumed(
    scenario: Scenario, top: Path, keep: Callable[[int], bool] = lambda _: True
) -> Iterator[tuple[dict[str, bytes], dict[str, bytes]]]:
    """Yield what an uninterrupted run ended with, and what each interrupted one did.

    Args:
        scenario: what to run.
        top: an empty folder to work in.
        keep: which states to resume from, by number (default: all).
    """
    job = Job("default", scenario, top / "whole")
    watcher = Watcher(job.folder)
    run_one(job, EAGER, [watcher.listen])
    expected, seen = computed(job.folder), set[State]()
    todo = list(watcher.states(expected))
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        if keep(len(seen)):
            folder = top / f"{len(seen)}"
            restore(folder, state)
            watcher = Watcher(folder)
            resume(folder, EAGER, [watcher.listen])
            yield expected, computed(folder)
            todo += watcher.states(expected)
            shutil.rmtree(folder)
