"""What would have made a run shorter: its clock again, without training, with one thing changed.

Each change is written as `--set` would have it, and made to the run's resolved scenario; fleet,
outages and selections draw the same random numbers.  The clock alone decides nothing that needs a
model: where the run's own clock, unchanged, does not come out as recorded (its selector or filter
looks at losses or updates), nothing is computed, since a change would reach what they look at.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.core.units import DATA_RATE, compute_dimension, format_quantity, parse_quantity
from simfl.errors import SimflError, UnitError
from simfl.runs.job import jobs
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.progress import Progress
from simfl.runs.results.result import RunResult
from simfl.runs.run import run_jobs
from simfl.scenario import Document
from simfl.scenario.language.place import as_written
from simfl.scenario.parts.rounds import Stop
from simfl.sim.policies.base import policies

CHEAP = 10_000
"""Participations of a run whose clock is run again unasked."""
UNCHANGED = "unchanged"
"""What the run's own clock is called."""
LINKS = ("downlink", "uplink")
SPEED = ("compute", *LINKS, "latency")


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


@dataclass(frozen=True)
class Counterfactual:
    """What came of one change.

    Attributes:
        change: what was changed.
        time_s: virtual time of as many rounds as the run had (NaN: not known).
        lost: share of participations that came to nothing.
        why_not: why it is not known ("": it is).
    """

    change: Change
    time_s: float = math.nan
    lost: float = math.nan
    why_not: str = ""


@dataclass(frozen=True)
class WhatIf:
    """What each change that could matter would have made of a run.

    Attributes:
        cases: a change each.
        lost: share of participations that came to nothing in as many rounds of the run's own clock,
            unchanged (NaN: not known).
    """

    cases: Sequence[Counterfactual] = ()
    lost: float = math.nan


def counterfactuals(
    run: RunResult, options: Options | None = None, watch: Watch | None = None
) -> WhatIf:
    """Return what each change that could matter would have made of a run.

    Args:
        run: with at least one round.
        options: where its data lie.
        watch: is told how far the clocks are.
    """
    planned = changes(run)
    clock = _Clock(run, options or Options(), planned, watch or Watch())
    why, lost = clock.unchanged()
    if why:
        return WhatIf([Counterfactual(change, why_not=why) for change in planned])
    return WhatIf([clock.with_(change) for change in planned], lost)


class _OneOf(Watch):
    """Tells a `watch` of many runs of one that is made by itself."""

    def __init__(self, watch: Watch, number: int) -> None:
        self._watch, self._number = watch, number

    @override
    def tell(self, number: int, progress: Progress) -> None:
        self._watch.tell(self._number, progress)


class _Clock:
    """Runs a run's clock again."""

    def __init__(
        self, run: RunResult, options: Options, planned: Sequence[Change], watch: Watch
    ) -> None:
        self._run, self._watch = run, watch
        self._titles = [UNCHANGED, *(change.name for change in planned if not change.why_not)]
        self._options = Options(
            executor="inline", jobs=1, time_only=True, data_dir=options.data_dir
        )
        stop = dict.fromkeys(Stop.model_fields) | {"rounds": run.n_rounds}
        document = Document.of(run.scenario, folder=run.folder)
        self._document = document.set(
            *(f"rounds.stop.{k}={json.dumps(v)}" for k, v in stop.items())
        )

    def unchanged(self) -> tuple[str, float]:
        """Return why the clock alone says nothing of this run, if so, and what it loses."""
        if self._run.provenance.get("forks"):
            return "it is a fork: its rules were others before", math.nan
        try:
            again, lost = self._ends(self._document, UNCHANGED)
        except SimflError as error:
            return f"the clock alone can't run again: {_first_line(error)}", math.nan
        if again != self._run.column("end_s").tolist():
            why = (
                "without training its clock takes another course: who is chosen, or what is "
                "sent, depends on what was learnt"
            )
            return why, math.nan
        return "", lost

    def with_(self, change: Change) -> Counterfactual:
        """Return what comes of a change."""
        if change.why_not:
            return Counterfactual(change, why_not=change.why_not)
        try:
            ends, lost = self._ends(self._document.set(*change.sets), change.name)
        except SimflError as error:
            return Counterfactual(change, why_not=_first_line(error))
        if len(ends) < self._run.n_rounds:
            return Counterfactual(change, why_not=f"it ended after {len(ends)} rounds")
        return Counterfactual(change, ends[-1], lost)

    def _ends(self, document: Document, title: str) -> tuple[list[float], float]:
        with TemporaryDirectory() as top:
            todo, number = jobs(document, Path(top)), self._titles.index(title)
            if title == UNCHANGED:
                self._watch.begin([replace(todo[0], variant=name) for name in self._titles], 1)
            result = run_jobs(todo, self._options, watch=_OneOf(self._watch, number))[0]
            lost = 1 - float(result.used.mean()) if len(result.used) else 0.0
            return result.column("end_s").tolist(), lost


def _first_line(error: SimflError) -> str:
    return str(error).partition("\n")[0].removeprefix("scenario: ")


# Changes -----------------------------------------------------------------------------------------


def changes(run: RunResult) -> list[Change]:
    """Return the changes that would make some run shorter, and mean something to this one."""
    scenario = run.scenario
    candidates = [
        *_policy(scenario),
        *_deadline(run),
        *_class(run),
        *_links(scenario),
        *_availability(scenario["fleet"]),
        _scaled("compute twice as fast", 2.0, _numbers(scenario, ("compute",))),
    ]
    return [change for change in candidates if change.sets or change.why_not]


def _policy(scenario: Mapping[str, Any]) -> Iterator[Change]:
    """Yield that the server waits less."""
    policy = scenario["rounds"]["policy"]
    options, path = policies.get(policy["name"]).model_fields, "rounds.policy"
    if "deadline" in options and (
        policy.get("deadline", "none") == "none" or not policy.get("enforce", True)
    ):
        enforced = [f"{path}.enforce=true"] if "enforce" in options else []
        sets = [f"{path}.deadline={{stragglers: 30%}}", *enforced]
        yield Change("a deadline that 30% of the fleet miss", tuple(sets))
    if policy.get("over_select") == "100%":
        yield Change("without the slowest of 120% asked", (f"{path}.over_select=120%",))


def _deadline(run: RunResult) -> Iterator[Change]:
    """Yield that those are waited for whom a deadline cut off."""
    policy = run.scenario["rounds"]["policy"]
    enforced = policy.get("deadline", "none") != "none" and policy.get("enforce", True)
    if enforced and run.outcomes["late"]:
        yield Change("without a deadline", ("rounds.policy.deadline=none",))


def _class(run: RunResult) -> Iterator[Change]:
    """Yield the slowest class of devices being like the fastest."""
    groups = run.scenario["fleet"]
    if len(groups) < 2:
        return
    mean_s = {}
    for name, _ in run.groups:
        own = run.durations_s[run.part("group") == name]
        own = own[np.isfinite(own)]
        mean_s[name] = float(own.mean()) if len(own) else math.inf
    names = list(mean_s)
    slow, fast = max(names, key=mean_s.__getitem__), min(names, key=mean_s.__getitem__)
    index, model = names.index(slow), groups[names.index(fast)]
    title = f"{slow} as fast as {fast}"
    if any(key not in group for group in (groups[index], model) for key in SPEED):
        yield Change(title, why_not="their numbers come from a trace")
        return
    differing = [key for key in SPEED if groups[index][key] != model[key]]
    yield Change(
        title, tuple(f"fleet[{index}].{key}={as_written(model[key])}" for key in differing)
    )


def _availability(groups: list[dict[str, Any]]) -> Iterator[Change]:
    sets = []
    for index, group in enumerate(groups):
        if group["availability"]["name"] != "always":
            sets.append(f"fleet[{index}].availability=always")
        if group.get("battery") is not None:
            sets.append(f"fleet[{index}].battery=null")
    yield Change("everybody always available", tuple(sets))


def _links(scenario: Mapping[str, Any]) -> Iterator[Change]:
    paths = _numbers(scenario, LINKS)
    network = scenario["network"]
    paths |= {
        f"network.{key}": network[key]
        for key in ("server_downlink", "server_uplink")
        if key in network
    }
    for name, cell in (network.get("cells") or {}).items():
        paths |= {f"network.cells.{name}.{key}": cell[key] for key in LINKS}
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


def _scaled(name: str, factor: float, numbers: Mapping[str, Any]) -> Change:
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
    """
    if isinstance(value, Mapping):
        return {key: times(item, factor) for key, item in value.items()}
    if isinstance(value, list):
        return [times(item, factor) for item in value]
    if not isinstance(value, str):
        return value
    for dimension in (DATA_RATE, compute_dimension(value)):
        try:
            return format_quantity(factor * parse_quantity(value, dimension), dimension)
        except UnitError:
            continue
    return value
