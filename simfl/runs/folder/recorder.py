"""Writes a run's event log and tables as it goes on."""

import csv
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from simfl.core.rows import COLUMNS, ClientRow, RoundRow
from simfl.runs.folder.event_kinds import EVENT_KINDS
from simfl.runs.folder.eventlog import encode, encode_row
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import CLIENTS, EVENTS, ROUNDS
from simfl.runs.folder.growing_file import PACKED, GrowingFile

KINDS: Mapping[str, frozenset[str] | None] = {
    "full": None,
    "rounds": frozenset(kind for kind, event in EVENT_KINDS.items() if not event.of_clients),
    "none": frozenset(),
}
"""Which kinds of events are recorded (None: all), by what the user asked for, the most first."""


class Recorder:
    """Writes the event log and the tables of one run; every table is a fold over all events.

    What the log leaves out, whether it is compressed, and whether power is known is in the folder's
    provenance; where it is not known the tables' energy is empty (in the log it is 0 J).

    Args:
        folder: of the run.
        row: what it tells of each round.
    """

    def __init__(self, folder: Path, row: type[RoundRow]) -> None:
        files = RunFiles(folder)
        self.log = files.log
        self._kinds = KINDS[self.log]
        self._powered = files.provenance.get("powered", True)  # older tables have 0 J
        name = EVENTS + PACKED if files.provenance.get("log_compressed") else EVENTS
        self.events = GrowingFile(folder / name)
        self._rounds = GrowingFile(folder / ROUNDS)
        self._clients = GrowingFile(folder / CLIENTS)
        self._csv = _Csv()
        self._rounds.append(",".join(COLUMNS[row].names))
        self._clients.append(",".join(COLUMNS[ClientRow].names))
        self.flush()

    @property
    def kinds(self) -> frozenset[str] | None:
        """Which kinds of events it needs to be told (None: all)."""
        if self._kinds is None:
            return None
        return self._kinds | ({"round_end"} if self.log == "none" else {"participation"})

    def listen(self, time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Record one event, of those `kinds`."""
        if "row" not in facts:
            self.events.append(encode(time_s, kind, facts))
            return
        row = facts["row"]
        if self._kinds is None or kind in self._kinds:
            line, cells = encode_row(time_s, kind, row)
            self.events.append(line)
        else:
            cells = list(COLUMNS[type(row)].values(row))
        if not self._powered:
            for index in COLUMNS[type(row)].joules:
                cells[index] = None
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
