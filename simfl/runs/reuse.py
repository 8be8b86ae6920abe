"""What may become of the run that a folder holds already: kept, resumed, or replaced."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from simfl.core.arguments import called
from simfl.core.files import failure, write_output
from simfl.errors import InputError
from simfl.runs.differences import differences
from simfl.runs.folder.file_descriptions import FILES
from simfl.runs.folder.folder import (
    CHECKPOINT,
    EVENTS,
    PAST,
    PROVENANCE,
    SCENARIO,
    SUMMARY,
    is_finished,
    is_run,
    refuse_torn,
    remove_halves,
    resuming,
)
from simfl.runs.folder.growing_file import PACKED
from simfl.runs.folder.json_files import read_json, read_provenance, write_json
from simfl.runs.folder.lock import LOCK, locked
from simfl.runs.folder.outside import refuse_inside
from simfl.runs.inputs import changed
from simfl.runs.job import Job
from simfl.scenario.parts.rounds import LIMITS
from simfl.scenario.scenario import Scenario

_SOURCES = (SCENARIO, PROVENANCE, PAST, CHECKPOINT)
"""What a run is made from, and gone on with."""
_RESULTS = [EVENTS + PACKED, *(file for file in FILES if file not in _SOURCES)]
_PAST = re.compile(r"past-\d+\.yaml")


def keeps(job: Job, time_only: bool, go_on: bool) -> bool:
    """Return whether the run in the folder of `job` is kept: finished, or to be resumed.

    Args:
        job: to be done; its folder need not exist.
        time_only: no training.
        go_on: an interrupted run is resumed.

    Raises:
        InputError: what the folder holds would be lost, or another process works on it.
    """
    folder = job.folder
    refuse_foreign(folder)
    refuse_torn(folder)
    if not is_run(folder):
        return False
    if differing := _differences(job, time_only):
        raise InputError(
            f"{folder} holds the results of a different scenario:\n{differing}\n"
            f"give {called('--overwrite', 'overwrite=True')} to replace them, or another "
            f"{called('--out', 'out')} or name"
            f"{_longer(job, differing)}"
        )
    if is_finished(folder):
        return True
    with locked(folder):
        if not go_on:
            raise InputError(
                f"{folder} holds an unfinished run; go on with {called('--resume', 'go_on=True')} "
                f"or `{resuming(folder)}`, or give {called('--overwrite', 'overwrite=True')} or "
                f"another {called('--out', 'out')}"
            )
    return True


def holds(job: Job, time_only: bool) -> bool:
    """Return whether the folder of `job` holds a run of it, finished or not, and sound."""
    try:
        return is_run(job.folder) and not _differences(job, time_only)
    except InputError:  # whose it is can't be read any more
        return False


def _differences(job: Job, time_only: bool) -> str:
    """Return in what the run in the folder of `job` is another, for people; empty: in nothing."""
    return differences(job.folder, job.text, time_only) or _other_contents(job)


def _other_contents(job: Job) -> str:
    """Return which files a finished run of `job` read other contents of, for people."""
    if not is_finished(job.folder):  # it goes on: what is replayed is compared with its log
        return ""
    names = changed(read_provenance(job.folder), job.scenario)
    return "\n".join(f"  {name}: other contents there than now" for name in names)


def _longer(job: Job, differing: str) -> str:
    """Return how to go on with the run of `job` for longer, if only its end differs, and can.

    Of a trial of a tuning nobody asks that: the next one would not know of it.
    """
    ends = all(line.startswith("  rounds.stop.") for line in differing.splitlines())
    if not (ends and job.study.variants) or _ended_at_once(job.folder):
        return ""
    stop, before = job.scenario.rounds.stop, Scenario.load(job.folder / SCENARIO).rounds.stop
    for limit in LIMITS:
        now, then = getattr(stop, limit), getattr(before, limit)
        if now is not None and (then is None or now < then):
            return ""
    return (
        f"; to run it for longer, go on from just before its end: `simfl fork "
        f"{quote(str(job.folder))} --at end --set rounds.stop...`, and so each other run"
    )


def _ended_at_once(folder: Path) -> bool:
    """Return whether a run ended at 0 s, before which none can be forked."""
    return is_finished(folder) and read_json(folder / SUMMARY).get("virtual_time_s") == 0


def refuse_run(folder: Path, instead: str) -> None:
    """Refuse a `folder` that holds a run, whole or torn.

    Raises:
        InputError: it does; says what to do `instead`.
    """
    refuse_torn(folder)
    if is_run(folder):
        raise InputError(f"{folder} holds a run already; {instead}")


def refuse_foreign(folder: Path) -> None:
    """Refuse a `folder` that holds files which simfl did not write.

    Raises:
        InputError: it does, or it can't be there, below what is no folder or is another run's.
    """
    option = called("--out", "out")
    another = f"give another {option}"
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is a file; {another}")
    for above in (folder.parent, Path(os.path.realpath(folder)).parent):
        refuse_inside(above, option)
    if not folder.exists():
        return
    if foreign := [path.name for path in folder.iterdir() if not _is_of_a_run(path.name)]:
        first = sorted(foreign)[0]
        if is_run(folder):
            raise InputError(
                f"{folder} holds a run, and {first}, which simfl did not write there; move it away"
            )
        raise InputError(f"{folder} is not a run folder: it holds {first}; {another}")


def refuse_to_lose_weights(
    scenarios: Iterable[Scenario], replaced: Iterable[Path], another: str
) -> None:
    """Refuse to replace a run with whose model others, or those in its place, are to begin.

    Args:
        scenarios: of those that are to be made.
        replaced: folders of runs, there or not.
        another: what to give instead.

    Raises:
        InputError: a model that some of them begin with would be lost.
    """
    folders = {Path(os.path.realpath(folder)): folder for folder in replaced}  # of links, as above
    for weights in {scenario.weights for scenario in scenarios}:
        for place in () if weights is None else Path(os.path.realpath(weights)).parents:
            if place in folders:
                raise InputError(
                    f"{folders[place]} would be replaced, and with it {weights}, with which runs "
                    f"begin (`model.weights_file`); give {another}"
                )


def _is_of_a_run(name: str) -> bool:
    files = (*_SOURCES, *_RESULTS, LOCK)
    return name in files or name.endswith(".partial") or _PAST.fullmatch(name) is not None


def prepare(
    folder: Path,
    scenario: str,
    provenance: Mapping[str, Any],
    past: Mapping[str, bytes] | None = None,
) -> None:
    """Make a fresh run folder, in place of whatever run was there.

    Its provenance is removed first and written last: in between the folder holds no run.

    Args:
        folder: which is made, if need be.
        scenario: the resolved one.
        provenance: how the run is made.
        past: further files that it begins with.

    Raises:
        InputError: it can't be made.
        RunError: the disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (PROVENANCE, *_RESULTS):
            (folder / name).unlink(missing_ok=True)
        for old in (*folder.glob(PAST), *(folder / CHECKPOINT).glob("*")):
            old.unlink()
        remove_halves(folder)
    except OSError as error:
        raise failure(f"can't make {folder}", error) from error
    for name, data in {**(past or {}), SCENARIO: scenario.encode()}.items():
        write_output(folder / name, data)
    write_json(folder / PROVENANCE, provenance)
