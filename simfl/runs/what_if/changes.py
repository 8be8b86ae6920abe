"""What could have been otherwise in a run, that might have made it shorter."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simfl.core.code import beside
from simfl.core.types import Floats
from simfl.core.units import (
    DATA_RATE,
    SAMPLE_TIME,
    compute_dimension,
    format_quantity,
    parse_quantity,
)
from simfl.errors import InputError, UnitError
from simfl.runs.folder.folder import SCENARIO
from simfl.runs.folder.written import component_name
from simfl.runs.results.result import RunResult
from simfl.scenario.language.place import as_written
from simfl.sim.policies.base import RoundPolicy, policies

LINKS = ("downlink", "uplink")
SPEED = ("compute", *LINKS, "latency")
NEEDED = (("fleet",), ("network",), ("training", "batch_size"), ("rounds", "policy"))
"""What every run's scenario has, and is looked up in it."""


@dataclass(frozen=True)
class Change:
    """One thing that could have been otherwise.

    Attributes:
        name: in a few words.
        sets: the changes, as for `--set`.
        why_not: why it can't be tried ("": it can).
    """

    name: str
    sets: tuple[str, ...] = ()
    why_not: str = ""


def policy_of(run: RunResult) -> type[RoundPolicy]:
    """Return the class of a run's round policy.

    Raises:
        InputError: it is somebody's own, whose code is not there, or may not be imported.
    """
    with beside(run.folder / run.scenario.get("folder", "")):
        return policies.get(run.component("rounds", "policy"))


def changes(run: RunResult) -> list[Change]:
    """Return the changes that would make some run shorter, and mean something to this one.

    Raises:
        InputError: its scenario is damaged.
    """
    for path in NEEDED:
        if run.written(*path) is None:
            file = run.folder / SCENARIO
            raise InputError(f"{file} is damaged: it has no {'.'.join(path)!r}")
    scenario, policy = run.scenario, policy_of(run)
    candidates = [
        *_less_waiting(scenario, policy),
        *_no_deadline(run),
        *_faster_class(run),
        *_faster_links(scenario),
        *_no_quorum(scenario, policy),
        *_always_available(scenario["fleet"]),
        *_never_failing(scenario["fleet"]),
        _scaled("compute twice as fast", 2.0, _speeds(scenario)),
    ]
    meant = [change for change in candidates if change.sets or change.why_not]
    return [_with_the_same_deadline(change, run) for change in meant]


def _with_the_same_deadline(change: Change, run: RunResult) -> Change:
    """Return `change` with a deadline as long as it was that the fleet's speed decides."""
    policy = run.scenario["rounds"]["policy"]
    relative = [key for key in ("deadline", "period") if isinstance(policy.get(key), Mapping)]
    if not relative or not any(path.startswith(("fleet", "network")) for path in change.sets):
        return change
    lengths_s = run.of_rounds("deadline_s")[:1]
    if not np.isfinite(lengths_s).all():  # of tiers none is recorded
        why = "its deadline follows from the fleet's speed, and would change as well"
        return Change(change.name, why_not=why)
    kept = [f"rounds.policy.{key}={float(lengths_s[0])!r} s" for key in relative]
    return replace(change, sets=(*change.sets, *kept))


def _less_waiting(scenario: Mapping[str, Any], kind: type[RoundPolicy]) -> Iterator[Change]:
    """Yield options of the round policy by which the server waits for fewer clients."""
    policy = scenario["rounds"]["policy"]
    options, path = kind.model_fields, "rounds.policy"
    if "deadline" in options and (
        policy.get("deadline", "none") == "none" or not policy.get("enforce", True)
    ):
        enforced = [f"{path}.enforce=true"] if "enforce" in options else []
        sets = [f"{path}.deadline={{stragglers: 30%}}", *enforced]
        yield Change("a deadline that 30% of the fleet miss", tuple(sets))
    if policy.get("over_select") == "100%":
        yield Change("without the slowest of 120% asked", (f"{path}.over_select=120%",))


def _no_deadline(run: RunResult) -> Iterator[Change]:
    """Yield rounds without a deadline, where one cut clients off."""
    policy = run.scenario["rounds"]["policy"]
    enforced = policy.get("deadline", "none") != "none" and policy.get("enforce", True)
    if enforced and run.outcomes["late"]:
        yield Change("without a deadline", ("rounds.policy.deadline=none",))


def _faster_class(run: RunResult) -> Iterator[Change]:
    """Yield the slowest group of devices as fast as the fastest, of those that were asked."""
    groups = run.scenario["fleet"]
    names = [name for name, _ in run.groups]
    mean_s, took_s = {}, _equal_work_s(run)
    for name in names:
        asked = took_s[run.of_clients("group") == name]
        own = asked[np.isfinite(asked)]
        if len(asked):  # of others it is not known how fast they are
            mean_s[name] = float(own.mean()) if len(own) else math.inf
    if len(mean_s) < 2:
        return
    slow, fast = max(mean_s, key=mean_s.__getitem__), min(mean_s, key=mean_s.__getitem__)
    index, model = names.index(slow), groups[names.index(fast)]
    title = f"{slow} as fast as {fast}"
    if any(key not in group for group in (groups[index], model) for key in SPEED):
        yield Change(title, why_not="their numbers come from a trace")
        return
    if _drawn_anew(groups[index]) or _drawn_anew(model):
        yield Change(title, why_not="their speeds are drawn anew for each training")
        return
    differing = [key for key in SPEED if groups[index][key] != model[key]]
    yield Change(
        title, tuple(f"fleet[{index}].{key}={as_written(model[key])}" for key in differing)
    )


def _equal_work_s(run: RunResult) -> Floats:
    """Return `(participations,)` how long each would have taken with as much to train as others.

    Who holds much data is not slow.  NaN: it never arrived.
    """
    batches = np.ceil(run.of_clients("samples") / run.scenario["training"]["batch_size"])
    trained = run.of_clients("steps") * run.of_clients("samples") / np.maximum(batches, 1)
    counts = run.used & (trained > 0)
    if not counts.any():
        return np.full(len(counts), np.nan)
    compute_s = run.of_clients("compute_end_s") - np.fmax(
        run.of_clients("selected_s"), run.of_clients("download_end_s")
    )
    share = trained[counts].mean() / np.where(counts, trained, 1.0)
    return np.where(counts, run.durations_s + (share - 1) * compute_s, np.nan)


def _no_quorum(scenario: Mapping[str, Any], policy: type[RoundPolicy]) -> Iterator[Change]:
    """Yield rounds that begin with whoever is there, where devices are ever offline."""
    waits = policy.has_quorum and scenario["rounds"].get("min_clients") != 1
    if waits and any(change.sets for change in _always_available(scenario["fleet"])):
        yield Change("rounds begun with whoever is there", ("rounds.min_clients=1",))


def _always_available(groups: list[dict[str, Any]]) -> Iterator[Change]:
    """Yield devices that never leave, whose batteries never run empty."""
    sets = []
    for index, group in enumerate(groups):
        if component_name(group.get("availability")) != "always":
            sets.append(f"fleet[{index}].availability=always")
        if group.get("battery") is not None:
            sets.append(f"fleet[{index}].battery=null")
    yield Change("everybody always available", tuple(sets))


def _never_failing(groups: list[dict[str, Any]]) -> Iterator[Change]:
    """Yield devices whose trainings never break off."""
    failing = [index for index, group in enumerate(groups) if group.get("failures", "0%") != "0%"]
    yield Change("no training fails", tuple(f"fleet[{index}].failures=0%" for index in failing))


def _faster_links(scenario: Mapping[str, Any]) -> Iterator[Change]:
    """Yield links of devices, cells, server and edges twice as fast, and without limits."""
    paths = _numbers(scenario, LINKS)
    network, policy = scenario["network"], scenario["rounds"]["policy"]
    paths |= {f"rounds.policy.{key}": policy[key] for key in LINKS if key in policy}
    paths |= {
        f"network.{key}": network[key]
        for key in ("server_downlink", "server_uplink")
        if key in network
    }
    cells = network.get("cells")
    for name, cell in cells.items() if isinstance(cells, Mapping) else ():
        if isinstance(cell, Mapping):  # a network of the user's own may have other cells
            paths |= {f"network.cells.{name}.{key}": cell.get(key) for key in LINKS}
    limited = {path: value for path, value in paths.items() if value != "unlimited"}
    yield _scaled("links twice as fast", 2.0, limited)
    yield Change(
        "links without limits",
        tuple(f"{path}=unlimited" for path in limited if limited[path] is not None),
    )


def _numbers(scenario: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return numbers of the fleet's groups by path (None: a trace gives it)."""
    groups = enumerate(scenario["fleet"])
    return {f"fleet[{i}].{key}": group.get(key) for i, group in groups for key in keys}


def _speeds(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compute rates of the fleet's groups by path, those that are drawn anew, too."""
    anew = {
        f"fleet[{i}].compute_jitter.anew": group["compute_jitter"]["anew"]
        for i, group in enumerate(scenario["fleet"])
        if _drawn_anew(group)
    }
    return _numbers(scenario, ("compute",)) | anew


def _drawn_anew(group: Mapping[str, Any]) -> bool:
    """Whether each training of a group's devices has a speed of its own."""
    return "anew" in group.get("compute_jitter", {})


def _scaled(name: str, factor: float, numbers: Mapping[str, Any]) -> Change:
    """Return the change that makes rates, by path, `factor` times as high."""
    files = (v is None or (isinstance(v, Mapping) and "file" in v) for v in numbers.values())
    if any(files):
        return Change(name, why_not="its numbers come from a file")
    return Change(
        name, tuple(f"{path}={as_written(times(v, factor))}" for path, v in numbers.items())
    )


def times(value: Any, factor: float) -> Any:
    """Return a rate, or a distribution of rates, `factor` times as high.

    >>> times({"distribution": "normal", "mean": "10 samples/s", "std": "2 samples/s"}, 2)
    {'distribution': 'normal', 'mean': '20 samples/s', 'std': '4 samples/s'}

    A time per sample is as much shorter:

    >>> times("20 ms/sample", 2)
    '10 ms/sample'
    """
    if isinstance(value, Mapping):
        return {key: times(item, factor) for key, item in value.items()}
    if isinstance(value, list):
        return [times(item, factor) for item in value]
    if not isinstance(value, str):
        return value
    for dimension in (DATA_RATE, compute_dimension(value)):
        try:
            by = 1 / factor if dimension is SAMPLE_TIME else factor
            return format_quantity(by * parse_quantity(value, dimension), dimension)
        except UnitError:
            continue
    return value
