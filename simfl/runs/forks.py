"""Forks: a run continued from a virtual instant under changed rules, its past shared.

A fork's folder begins with the log of the run that it comes from, up to the instant, and with the
scenarios that were in force before.  Doing the fork is resuming from there, by the same replay; so
is doing it again.  The past is checked byte for byte, as ever.
"""

import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from simfl.build.builder import Builder
from simfl.coordinators.replaying import ReplayingCoordinator
from simfl.core.rows import MOVED
from simfl.errors import InputError
from simfl.runs import checkpoint
from simfl.runs.eventlog import decode
from simfl.runs.files import RunFiles
from simfl.runs.folder import (
    EVENTS,
    SCENARIO,
    event_lines,
    past_name,
    read_provenance,
    require_run,
    resuming,
)
from simfl.runs.inputs import contents
from simfl.runs.lock import locked
from simfl.runs.reuse import prepare, refuse_foreign, refuse_run
from simfl.scenario import Scenario
from simfl.scenario.checks import refuse
from simfl.scenario.part import FolderName
from simfl.scenario.place import flat
from simfl.sim.coordinator import Coordinator
from simfl.sim.policies.base import RuleChange
from simfl.sim.server.server import Server

_LOG = logging.getLogger(__name__)

RULES = ("training", "rounds", "selection", "aggregation")
"""Parts of a scenario that a fork may change: what the server and its clients do.  All others say
what there is: fleet, network, data, model, how models are judged; so does `training.loss`."""

Stage = tuple[float, Scenario]
"""From when on, and the scenario in force from then."""


def stages(folder: Path) -> list[Stage]:
    """Return the scenarios of the run in `folder`, one unless it is a fork, in their order."""
    forks = read_provenance(folder)["forks"]
    files = [*(past_name(number) for number in range(1, len(forks) + 1)), SCENARIO]
    instants = [0.0, *(fork["at_s"] for fork in forks)]
    return [
        (at_s, Scenario.load(folder / file)) for at_s, file in zip(instants, files, strict=True)
    ]


def rule_changes(
    builders: Sequence[tuple[float, Builder]], server: Server, coordinator: Coordinator
) -> Iterator[RuleChange]:
    """Yield what the forks of a run change.

    Args:
        builders: of its stages.
        server: of the run.
        coordinator: who answers it.
    """
    live = builders[0][1].coordinator
    for (_, before), (at_s, after) in pairwise(builders):
        old, new = (_rules(builder.scenario) for builder in (before, after))
        if old == new:
            yield RuleChange(at_s, after.settings)
            continue
        same = {part for part in old if old[part] == new[part]}

        def adopt(rules: Builder = after, same: set[str] = same) -> None:
            live.adopt(rules.coordinator, same)
            rules.reveal(server)
            rules.refuse_endless(server)
            if isinstance(coordinator, ReplayingCoordinator):
                coordinator.pass_fork()

        scenario = after.scenario
        workload = None if "workload" in same else scenario.training.workload.fresh()
        yield RuleChange(at_s, after.settings, scenario.rounds.policy.fresh(), workload, adopt)


def _rules(scenario: Scenario) -> dict[str, Any]:
    """Return what decides who does what, by part: all rules but those that end the run."""
    written = scenario.to_dict()
    training, rounds = written["training"], dict(written["rounds"])
    del rounds["stop"]
    parts = {part: written[part] for part in ("training", "selection", "aggregation")}
    return (
        parts
        | {"rounds": rounds}
        | {key: training[key] for key in ("workload", "compression", "filter")}
    )


def fork(
    folder: Path,
    at_s: float,
    changes: Sequence[str],
    name: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Make the folder of a fork, ready to be resumed; return it.

    It lies beside that of the variant that it comes from.  If nothing is changed, a warning says
    so: it will be the run itself, byte for byte.

    Args:
        folder: of a run, finished or not; nothing in it is changed.
        at_s: the virtual instant; everything that happens then is shared.  inf: the last one
            before the run's end, so that a run that is over can be made longer.
        changes: such as ``rounds.policy=fedbuff``.
        name: of the new variant (None: that of the old one, and `-fork`).
        overwrite: replace a run that is there.

    Raises:
        InputError: `folder` holds no run, or none that was under way after `at_s`; a change would
            have changed the past; or the fork's folder holds something already.
    """
    require_run(folder)
    provenance, before = read_provenance(folder), stages(folder)
    at_s, past = _shared_past(folder, at_s, before[-1][0])
    scenario = Scenario.load(folder / SCENARIO, changes)
    _refuse_another_past(before[-1][1], scenario, [decode(line) for line in past])
    name = f"{provenance['variant']}-fork" if name is None else name
    if scenario.to_yaml() == before[-1][1].to_yaml():
        _LOG.warning("nothing is changed, the fork of %s will be that run again", folder)
    refuse({name: scenario}, trains=not provenance["time_only"])
    name = _folder_name(name)
    forked = _beside(folder, name)
    log = "".join(f"{line}\n" for line in past).encode()
    origin = {
        "of": str(folder),
        "variant": provenance["variant"],
        "at_s": at_s,
        "set": list(changes),
        "events": len(past),
        "events_sha256": sha256(log).hexdigest(),
        "scenario_sha256": provenance["scenario_sha256"],
    }
    _refuse_what_is_there(folder, forked, overwrite)
    with locked(forked):
        scenarios = [stage.to_yaml().encode() for _, stage in before]
        files = {past_name(number): data for number, data in enumerate(scenarios, start=1)}
        origins = _origins(provenance, origin, name, scenario)
        prepare(forked, scenario.to_yaml(), origins, {**files, EVENTS: log})
        checkpoint.inherit(folder, forked, len(past))
    return forked


def _beside(folder: Path, name: str) -> Path:
    """Return the folder of a fork called `name`, relative to the working directory as `folder`."""
    real, here = folder.resolve(), Path.cwd()
    forked = real.parents[1] / name / real.name
    inside = not folder.is_absolute() and forked.is_relative_to(here)
    return forked.relative_to(here) if inside else forked


def _shared_past(folder: Path, at_s: float, begun_s: float) -> tuple[float, list[str]]:
    """Return when a fork begins, and the lines of the log of the run in `folder` up to then.

    Args:
        folder: of the run.
        at_s: when the fork is to begin; inf: at the last instant before the end.
        begun_s: when the run itself began as a fork (0: it is none).

    Raises:
        InputError: no fork can begin then.
    """
    if not at_s > 0:  # nor is it after or before any number that is none
        raise InputError(
            f"a fork begins after 0 s, not at {at_s:g} s; for other rules from the start, run the "
            "scenario"
        )
    if (log := RunFiles(folder).log) != "full":
        raise InputError(f"{folder} was recorded with --log {log}: its past is not known")
    lines = list(event_lines(folder))
    times_s = [decode(line)["t"] for line in lines]
    last_s = times_s[-1] if times_s else 0.0
    if at_s == math.inf:
        at_s = max((time_s for time_s in times_s if time_s < last_s), default=0.0)
    shared = sum(time_s <= at_s for time_s in times_s)
    if shared == len(lines):
        raise InputError(
            f"{folder} is recorded until {last_s:g} s; a fork begins before that, and `--at end` "
            "just before"
        )
    if at_s <= begun_s:
        raise InputError(
            f"{folder} is a fork itself, from {begun_s:g} s on; fork it later than that, or "
            "fork the run that it comes from"
        )
    return float(at_s), lines[:shared]


def _origins(
    provenance: Mapping[str, Any], origin: Mapping[str, Any], name: str, scenario: Scenario
) -> dict[str, Any]:
    """Return the provenance of a fork called `name`, from that of the run that it comes from."""
    return {
        **{key: value for key, value in provenance.items() if key != "host_s"},
        "variant": name,
        "log_compressed": False,
        "forks": [*provenance["forks"], origin],
        "oracle": bool(provenance.get("oracle")) or scenario.selection.oracle,
        "files": contents(scenario),
        "scenario_sha256": sha256(scenario.to_yaml().encode()).hexdigest(),
    }


def _folder_name(name: str) -> str:
    try:
        return TypeAdapter(FolderName).validate_python(name)
    except ValidationError:
        raise InputError(f"{name!r} can't be the name of a folder; give another --name") from None


def _refuse_what_is_there(folder: Path, forked: Path, overwrite: bool) -> None:
    refuse_foreign(forked)
    if forked.resolve() == folder.resolve():
        raise InputError(f"{forked} is the run itself; give another --name")
    if not overwrite:
        instead = f"go on with `{resuming(forked)}`, or give --overwrite or another --name"
        refuse_run(forked, instead)


def _refuse_another_past(
    before: Scenario, after: Scenario, past: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse changes that would have made other events of the `past`."""
    old, new = (flat(scenario.to_dict()) for scenario in (before, after))
    changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    fixed = [
        path
        for path in changed
        if path.partition(".")[0] not in RULES or path.startswith("training.loss")
    ]
    problems = [f"{path}: a fork can't change that, it made the past what it is" for path in fixed]
    if any(path.startswith("rounds.stop") for path in changed):
        problems += _ended_before(after, past)
    if problems:
        allowed = ", ".join(RULES)
        raise InputError("\n".join([*problems, f"a fork may change {allowed}; all else: run anew"]))


def _ended_before(scenario: Scenario, past: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the stopping rules that were met before the fork."""
    stop, rounds = scenario.rounds.stop, [e for e in past if e["event"] == "round_end"]
    in_flight = rounds[-1] if rounds else {}
    reached = {
        "rounds": len(rounds),
        "time": past[-1]["t"] if past else 0.0,
        "bytes": sum(row[size] for row in rounds for size in MOVED)
        + in_flight.get("in_flight_bytes", 0),
        "energy": sum(row["energy_j"] for row in rounds) + in_flight.get("in_flight_energy_j", 0.0),
        "accuracy": max(
            (e["accuracy"] or 0.0 for e in past if e["event"] == "evaluated"), default=0
        ),
    }
    for rule, value in reached.items():
        limit = getattr(stop, rule)
        if limit is not None and value >= limit:
            yield f"rounds.stop.{rule}: {json.dumps(limit)} was reached before, {value:g} by then"
