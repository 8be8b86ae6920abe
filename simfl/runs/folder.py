"""A run's folder: written as the run goes on, readable after ``kill -9`` at any moment."""

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from simfl.coordinators.base import DIAGNOSTICS, MODEL
from simfl.core.rows import COLUMNS, ClientRow, RoundRow
from simfl.errors import InputError, RunError
from simfl.runs.eventlog import PACKED, GrowingFile, encode, encode_row, lines_of
from simfl.runs.lock import LOCK, locked
from simfl.scenario.yaml import read_yaml

EVENTS, ROUNDS, CLIENTS = "events.jsonl", "rounds.csv", "clients.csv"
SCENARIO, PROVENANCE, SUMMARY = "scenario.yaml", "provenance.json", "summary.json"
REPORT, TRACE = "report.html", "trace.json"
CHECKPOINT = "checkpoint"

LOGS = {
    "full": None,
    "rounds": frozenset(
        {"round", "probe", "probed", "aggregated", "evaluated", "target", "round_end"}
    ),
    "none": frozenset[str](),
}
"""Which kinds of events are recorded, by what the user asked for (None: all)."""

_RESULTS = (SUMMARY, EVENTS, EVENTS + PACKED, ROUNDS, CLIENTS, MODEL, DIAGNOSTICS, REPORT, TRACE)
_PAST = re.compile(r"past-\d+\.yaml")
_SHOWN = 8
"""Differences between scenarios that are told."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or nothing.

    Raises:
        RunError: the disk is full or the folder is not writable; nothing is left behind.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RunError(f"can't write {path}: {error.strerror}") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_atomically(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds.

    Raises:
        InputError: it is missing or damaged.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} can't be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: is no JSON object")
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


def is_finished(folder: Path) -> bool:
    """Whether `folder` holds a run that ended."""
    return (folder / SUMMARY).exists()


def is_run(folder: Path) -> bool:
    """Whether `folder` holds a run, finished or not."""
    return (folder / SCENARIO).exists() and (folder / PROVENANCE).exists()


def factors(folder: Path) -> dict[str, Any]:
    """Return what was swept to make the run in `folder`: a path -> its value, as written.

    Where the scenario has variants too, `variant` is the name of its own.
    """
    return dict(read_json(folder / PROVENANCE).get("factors", {}))


def keeps(folder: Path, scenario: str, time_only: bool, go_on: bool) -> bool:
    """Return whether the run in `folder` is kept: finished, or with `go_on` to be resumed.

    Args:
        folder: of a run to be done; it need not exist.
        scenario: the resolved one.
        time_only: no training.
        go_on: an interrupted run is resumed.

    Raises:
        InputError: what the folder holds would be lost, or another process is at it.
    """
    check_ours(folder)
    if not is_run(folder):
        return False
    if differing := differences(folder, scenario, time_only):
        raise InputError(
            f"{folder} holds the results of a different scenario:\n{differing}\n"
            "give --overwrite to replace them, or another --out or name"
        )
    if is_finished(folder):
        return True
    with locked(folder):
        if not go_on:
            raise InputError(
                f"{folder} holds an unfinished run; go on with --resume or `simfl resume "
                f"{folder}`, or give --overwrite or another --out"
            )
    return True


def check_ours(folder: Path) -> None:
    """Refuse a `folder` that holds what is none of ours.

    Raises:
        InputError: it does.
    """
    if folder.is_file():
        raise InputError(f"{folder} is a file; give another --out")
    if not folder.exists():
        return
    if foreign := [path.name for path in folder.iterdir() if not _ours(path.name)]:
        raise InputError(
            f"{folder} is not a run folder: it holds {sorted(foreign)[0]}; give another --out"
        )


def differences(folder: Path, scenario: str, time_only: bool) -> str:
    """Return what a resolved scenario has in another way than the run in `folder`, for people.

    Empty if nothing: at most `_SHOWN` lines of a path, the value there and the value asked for.
    """
    if (written := (folder / SCENARIO).read_text(encoding="utf-8")) == scenario:
        there, asked = dict[str, Any](), dict[str, Any]()
    else:
        there, asked = (
            dict(leaves(read_yaml(text, SCENARIO, lines=False)[0])) for text in (written, scenario)
        )
        if there == asked:
            asked = {"scenario.yaml": "written by another version"}
    provenance = read_provenance(folder)
    for number, fork in enumerate(provenance["forks"], start=1):
        there[f"fork {number}"] = f"at {fork['at_s']:g} s"
    there["--time-only"] = provenance["time_only"]
    asked["--time-only"] = time_only
    paths = [path for path in {**there, **asked} if there.get(path) != asked.get(path)]
    lines = [f"  {path}: {_shown(there, path)} there, {_shown(asked, path)} now" for path in paths]
    more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *more])


def past_name(number: int) -> str:
    """Return the name of the file with the scenario in force before the `number`-th fork."""
    return f"past-{number}.yaml"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of everything in `value` that is neither a list nor a mapping."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, f"{path}.{key}" if path else str(key))


def _shown(values: Mapping[str, Any], path: str) -> str:
    return json.dumps(values[path]) if path in values else "nothing"


def _ours(name: str) -> bool:
    files = (SCENARIO, PROVENANCE, *_RESULTS, CHECKPOINT, LOCK)
    return name in files or name.endswith(".partial") or _PAST.fullmatch(name) is not None


def prepare(folder: Path, scenario: str, provenance: Mapping[str, Any]) -> None:
    """Make a fresh run folder, in place of whatever run was there.

    Raises:
        InputError: it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _RESULTS:
            (folder / name).unlink(missing_ok=True)
        for old in (*folder.glob("past-*.yaml"), *(folder / CHECKPOINT).glob("*")):
            old.unlink()
    except OSError as error:
        raise InputError(f"can't make {folder}: {error.strerror}") from error
    write_atomically(folder / SCENARIO, scenario.encode())
    write_json(folder / PROVENANCE, provenance)


def event_lines(folder: Path) -> Iterator[str]:
    """Yield the lines of a run's event log, compressed or not; see `lines_of`."""
    packed = folder / (EVENTS + PACKED)
    return lines_of(packed if packed.exists() else folder / EVENTS)


def log_of(folder: Path) -> str:
    """Return what the event log of the run in `folder` holds: a key of `LOGS`."""
    return str(read_json(folder / PROVENANCE).get("log", "full"))


class Recorder:
    """Writes the event log and the tables of one run; every table is a fold over all events.

    What the log leaves out and whether it is compressed is in the folder's provenance.
    """

    def __init__(self, folder: Path) -> None:
        provenance = read_json(folder / PROVENANCE)
        self.log: str = provenance.get("log", "full")
        self._kinds = LOGS[self.log]
        name = EVENTS + PACKED if provenance.get("log_compressed") else EVENTS
        self.events = GrowingFile(folder / name)
        self._rounds = GrowingFile(folder / ROUNDS)
        self._clients = GrowingFile(folder / CLIENTS)
        self._csv = _Csv()
        self._rounds.append(",".join(COLUMNS[RoundRow].names))
        self._clients.append(",".join(COLUMNS[ClientRow].names))
        self.flush()

    def listen(self, time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Record one event."""
        logged = self._kinds is None or kind in self._kinds
        if "row" not in facts:
            if logged:
                self.events.append(encode(time_s, kind, facts))
            return
        if kind == "participation" and self.log == "none":
            return
        line, cells = encode_row(time_s, kind, facts["row"])
        if logged:
            self.events.append(line)
        if kind == "participation":
            self._clients.append(self._csv.line(cells))
        elif kind == "round_end":
            self._rounds.append(self._csv.line(cells))
            self.flush()

    @property
    def resumes(self) -> bool:
        """Whether rounds had been recorded before."""
        return self._rounds.before > 1

    def flush(self) -> None:
        """Hand everything to the operating system, the log first."""
        for file in (self.events, self._rounds, self._clients):
            file.flush()

    def close(self) -> None:
        """Write what waits and close the files, each whatever becomes of the others."""
        with ExitStack() as stack:
            for file in (self._clients, self._rounds, self.events):  # the log first, in effect
                stack.callback(file.close)


class _Csv:
    """Turns cells into lines of CSV; None is an empty one."""

    def __init__(self) -> None:
        self._line = ""
        self._writer = csv.writer(self, lineterminator="")

    def write(self, line: str) -> None:
        """Take the line that the writer has just made."""
        self._line = line

    def line(self, cells: Iterable[Any]) -> str:
        """Return `cells` as one line."""
        self._writer.writerow(cells)
        return self._line
