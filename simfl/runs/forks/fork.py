"""Making forks: of each run a folder that is ready to be resumed, or none of several."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from shutil import rmtree
from typing import Any

from pydantic import TypeAdapter, ValidationError

from simfl.components.datasets.elsewhere import Elsewhere
from simfl.core.arguments import called
from simfl.errors import InputError
from simfl.runs.folder import checkpoint
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import (
    EVENTS,
    SCENARIO,
    event_lines,
    past_names,
    require_run,
    resuming,
)
from simfl.runs.folder.json_files import read_provenance
from simfl.runs.folder.lock import locked
from simfl.runs.folder.stages import stages
from simfl.runs.forks.past import shared_past
from simfl.runs.forks.provenance import forked_provenance
from simfl.runs.forks.rules import refuse_another_past
from simfl.runs.reuse import prepare, refuse_foreign, refuse_run, refuse_to_lose_weights
from simfl.scenario import Scenario
from simfl.scenario.checks import refuse
from simfl.scenario.parts.part import FolderName

_LOG = logging.getLogger(__name__)


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
    return fork_all([folder], at_s, changes, name, overwrite)[0]


def fork_all(
    folders: Sequence[Path],
    at_s: float,
    changes: Sequence[str],
    name: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Make a fork of each of several runs, or of none; see `fork`.

    Raises:
        InputError: as `fork`; or two of them would go into one folder, or into each other's.
    """
    planned = [_plan(folder, at_s, changes, name, overwrite) for folder in folders]
    origins = {plan.forked.resolve(): plan.folder for plan in planned}
    for plan in planned:
        if origins[plan.forked.resolve()] != plan.folder:
            other = origins[plan.forked.resolve()]
            raise InputError(
                f"{plan.folder} and {other} can't both become {plan.forked}; without "
                f"{called('--name', 'name')} each variant's fork has a name of its own"
            )
    refuse_to_lose_weights(
        [plan.scenario for plan in planned],
        [plan.forked for plan in planned],
        f"another {called('--name', 'name')}",
    )
    for plan in planned:
        if plan.changes_nothing:
            _LOG.warning("nothing is changed, the fork of %s will be that run again", plan.folder)
    new = [plan.forked for plan in planned if not plan.forked.exists()]
    try:
        for plan in _readers_first(planned):
            plan.make()
    except BaseException:  # all are made, or none
        for forked in new:
            rmtree(forked, ignore_errors=True)
            with suppress(OSError):  # it holds something else
                forked.parent.rmdir()
        raise
    return [plan.forked for plan in planned]


@dataclass(frozen=True)
class _Plan:
    """A fork that can be made.

    Attributes:
        folder: of the run that it comes from.
        forked: its own.
        scenarios: those before its own, by the name of their files.
        events: how many of the run's are shared.
        scenario: its own.
        provenance: its own.
        changes_nothing: whether its scenario says what that of the run does.
    """

    folder: Path
    forked: Path
    scenarios: Mapping[str, bytes]
    events: int
    scenario: Scenario
    provenance: dict[str, Any]
    changes_nothing: bool

    def make(self) -> None:
        """Make its folder: the log is read only now, lest those of many runs be held at once."""
        with locked(self.forked):
            log = BytesIO()
            log.writelines(f"{line}\n".encode() for line in _past(self.folder, self.events))
            files = {**self.scenarios, EVENTS: log.getvalue()}
            prepare(self.forked, self.scenario.to_yaml(), self.provenance, files)
            checkpoint.inherit(self.folder, self.forked, self.events)


def _plan(
    folder: Path, at_s: float, changes: Sequence[str], name: str | None, overwrite: bool
) -> _Plan:
    """Return a fork that can be made, of which nothing is written yet; see `fork`."""
    require_run(folder)
    provenance, before = read_provenance(folder), stages(folder)
    at_s, events = shared_past(folder, at_s, before[-1][0])
    scenario = Scenario.load(folder / SCENARIO, changes)
    if isinstance(scenario.data.dataset, Elsewhere):
        raise InputError(f"{folder} is of another program's clients, and can't be forked")
    refuse_another_past(before[-1][1], scenario, at_s, lambda: map(decode, _past(folder, events)))
    name = f"{provenance['variant']}-fork" if name is None else name
    refuse({name: scenario}, trains=not provenance["time_only"])
    name = _folder_name(name)
    forked = _beside(folder, name)
    digest = sha256()
    for line in _past(folder, events):
        digest.update(f"{line}\n".encode())
    origin = {
        "of": str(folder),
        "variant": provenance["variant"],
        "at_s": at_s,
        "set": list(changes),
        "events": events,
        "events_sha256": digest.hexdigest(),
        "scenario_sha256": provenance["scenario_sha256"],
    }
    _refuse_what_is_there(folder, forked, overwrite)
    texts = [stage.to_yaml().encode() for _, stage in before]
    scenarios = dict(zip(past_names(len(texts)), texts, strict=True))
    own = forked_provenance(provenance, origin, name, scenario, before[-1][1])
    same = scenario.to_yaml() == before[-1][1].to_yaml()
    return _Plan(folder, forked, scenarios, events, scenario, own, same)


def _readers_first(planned: Sequence[_Plan]) -> list[_Plan]:
    """Return the plans such that a run is read before another's fork takes its place.

    Raises:
        InputError: two runs would take each other's place.
    """
    by_origin = {plan.folder.resolve(): plan for plan in planned}
    before = {origin: {plan.forked.resolve()} & {*by_origin} for origin, plan in by_origin.items()}
    try:
        return [by_origin[origin] for origin in TopologicalSorter(before).static_order()]
    except CycleError as error:
        one, other = (by_origin[origin].folder for origin in error.args[1][:2])
        raise InputError(
            f"the forks of {one} and {other} would take each other's place; fork one at a "
            f"time, with another {called('--name', 'name')}"
        ) from None


def _past(folder: Path, events: int) -> Iterator[str]:
    """Yield the first so many lines of a run's log."""
    return islice(event_lines(folder), events)


def _beside(folder: Path, name: str) -> Path:
    """Return the folder of a fork called `name`, relative to the working directory as `folder`."""
    real, here = folder.resolve(), Path.cwd()
    forked = real.parents[1] / name / real.name
    inside = not folder.is_absolute() and forked.is_relative_to(here)
    return forked.relative_to(here) if inside else forked


def _folder_name(name: str) -> str:
    try:
        return TypeAdapter(FolderName).validate_python(name)
    except ValidationError:
        another = f"another {called('--name', 'name')}"
        raise InputError(f"{name!r} can't be the name of a folder; give {another}") from None


def _refuse_what_is_there(folder: Path, forked: Path, overwrite: bool) -> None:
    refuse_foreign(forked)
    another = f"another {called('--name', 'name')}"
    if forked.resolve() == folder.resolve():
        raise InputError(f"{forked} is the run itself; give {another}")
    if not overwrite:
        replacing = called("--overwrite", "overwrite=True")
        refuse_run(forked, f"go on with `{resuming(forked)}`, or give {replacing} or {another}")
