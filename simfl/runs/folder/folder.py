"""A run's folder: written as the run goes on, readable after ``kill -9`` at any moment."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from simfl.core.arguments import called, require_kind
from simfl.core.files import remove_abandoned, write_output
from simfl.core.words import few
from simfl.errors import InputError, RunError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.growing_file import PACKED, lines_of
from simfl.runs.folder.kinds import OF_PROVENANCE, OF_SUMMARY

EVENTS, ROUNDS, CLIENTS = "events.jsonl", "rounds.csv", "clients.csv"
SCENARIO, PROVENANCE, SUMMARY = "scenario.yaml", "provenance.json", "summary.json"
REPORT, TRACE = "report.html", "trace.json"
PAST = "past-*.yaml"
"""Matches `past_names`."""
CHECKPOINT = "checkpoint"


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_output(path, (json.dumps(value, indent=2) + "\n").encode())


class _Content(dict[str, Any]):
    """An object of a JSON file, which is damaged if it lacks what somebody looks up."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        super().__init__(content)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise InputError(f"{self._path} is damaged: it has no {key!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _Content, (self._path, dict(self))


_CURES = {
    SUMMARY: "; delete it, and `simfl resume` makes it again",
    PROVENANCE: "; without it a run can't be told from others: `simfl run` of its scenario with "
    "--overwrite makes it anew",
}
"""What may be done about a damaged file."""

_KINDS = {SUMMARY: OF_SUMMARY, PROVENANCE: OF_PROVENANCE}


def read_json(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds.

    Raises:
        InputError: it is missing or damaged; also later, when what it lacks is looked up.
    """
    cure = _CURES.get(path.name, "")
    try:
        text = path.read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text, object_hook=partial(_Content, path))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}{cure}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: is no JSON object")
    for name, is_sound in _KINDS.get(path.name, {}).items():
        if name in content and not is_sound(content[name]):
            raise InputError(f"{path} is damaged: {name!r} is not what it should be{cure}")
    return content


_ORIGINS = {"variant": str, "seed": int, "time_only": bool, "device": str, "scenario_sha256": str}
"""What every run's provenance says, and what kind of thing it is."""


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return how the run in `folder` was made; `forks` is there, if only as an empty list.

    Raises:
        InputError: it is missing or damaged.
    """
    provenance = {"forks": [], **read_json(folder / PROVENANCE)}
    wrong = [name for name, kind in _ORIGINS.items() if not isinstance(provenance.get(name), kind)]
    forks = provenance["forks"]
    sound = isinstance(forks, list) and all(
        isinstance(fork, dict) and isinstance(fork.get("at_s"), float) for fork in forks
    )
    if wrong := [*wrong, *([] if sound else ["forks"])]:
        raise InputError(f"{folder / PROVENANCE} is damaged: {wrong[0]} is not what it should be")
    return provenance


def remove_halves(folder: Path) -> None:
    """Remove what processes that were killed had begun to write into a run's folder."""
    for place in (folder, folder / CHECKPOINT):
        remove_abandoned(place)


def usual_place(variant: str, seed: int) -> Path:
    """Return where a run lies in the folder of its study."""
    return Path(variant, f"seed-{seed}")


def study_folder(folder: Path, variant: str, seed: int) -> Path | None:
    """Return the folder of the study that a run is of (None: the run was put somewhere else)."""
    at_its_place = folder.parts[-2:] == usual_place(variant, seed).parts
    return folder.parent.parent if at_its_place else None


def is_finished(folder: Path) -> bool:
    """Whether `folder` holds a run that ended."""
    return (folder / SUMMARY).exists()


def resuming(folder: Path) -> str:
    """Return the command that goes on with a run, to be copied into a shell."""
    return f"simfl resume {quote(str(folder))}"


def is_run(folder: Path) -> bool:
    """Whether `folder` holds a run, finished or not."""
    return (folder / SCENARIO).exists() and (folder / PROVENANCE).exists()


def refuse_torn(folder: Path) -> None:
    """Refuse a folder that has a run's provenance, but not its scenario: it is no run any more.

    Raises:
        InputError: it has.
    """
    if (folder / PROVENANCE).exists() and not (folder / SCENARIO).exists():
        raise InputError(
            f"{folder} lacks its {SCENARIO}; put it back (other seeds of the study have the same "
            "one but for its `seed`), or make the run anew with "
            f"{called('--overwrite', 'overwrite=True')}"
        )


def require_run(folder: Path) -> None:
    """Refuse what is no run's folder.

    Raises:
        InputError: it has lost its scenario; or naming some that are, a few levels below it.
    """
    refuse_torn(folder)
    if is_run(folder):
        return
    levels = ("/".join(["*"] * depth + [PROVENANCE]) for depth in (1, 2, 3))
    below = (file.parent for level in levels for file in sorted(folder.glob(level)))
    runs = few(str(path) for path in below if is_run(path))
    raise InputError(
        f"{folder} is not a run folder{f'; below it there are {runs}' if runs else ''}"
    )


def given_run(folder: str | os.PathLike[str]) -> Path:
    """Return the run's folder that a caller of simfl names; a result may be given for it.

    Raises:
        InputError: it is none.
    """
    example = "a run folder such as 'runs/NAME/default/seed-0'"
    require_kind("folder", folder, str | os.PathLike, example)
    require_run(Path(folder))
    return Path(folder)


def past_names(forks: int) -> list[str]:
    """Return the names of the files with the scenarios in force before each of so many forks."""
    return [f"past-{number}.yaml" for number in range(1, forks + 1)]


def event_log(folder: Path) -> Path:
    """Return where a run's event log is, or would be: compressed or not."""
    packed = folder / (EVENTS + PACKED)
    return packed if packed.exists() else folder / EVENTS


def event_lines(folder: Path) -> Iterator[str]:
    """Yield the lines of a run's event log, compressed or not; see `lines_of`."""
    return lines_of(event_log(folder))


def event_of(folder: Path, number: int, line: str) -> dict[str, Any]:
    """Return the event of the `number`-th line of a run's log.

    Raises:
        RunError: it is none; names the file and the line.
    """
    try:
        return decode(line)
    except RunError as error:
        raise RunError(f"{event_log(folder)}: line {number}: {error}") from error


def logged(
    folder: Path, wanted: Callable[[str], bool] = lambda line: True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events of a run's log whose lines are `wanted`, and the numbers of these.

    Raises:
        RunError: a line is no event; see `event_of`.
    """
    for number, line in enumerate(event_lines(folder), start=1):
        if wanted(line):
            yield number, event_of(folder, number, line)
