"""A run's folder: written as the run goes on, readable after ``kill -9`` at any moment."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from simfl.core.arguments import called, require_kind
from simfl.core.files import remove_abandoned
from simfl.core.words import few
from simfl.errors import InputError, RunError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.growing_file import PACKED, lines_of

EVENTS, ROUNDS, CLIENTS = "events.jsonl", "rounds.csv", "clients.csv"
SCENARIO, PROVENANCE, SUMMARY = "scenario.yaml", "provenance.json", "summary.json"
REPORT, TRACE = "report.html", "trace.json"
PAST = "past-*.yaml"
"""Matches `past_names`."""
CHECKPOINT = "checkpoint"


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
