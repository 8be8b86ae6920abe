"""What a run's folder says, read as it stands: nothing here knows how it came about."""

import csv
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from simfl.core.words import numbered
from simfl.errors import RunError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import (
    CLIENTS,
    EVENTS,
    ROUNDS,
    SCENARIO,
    SUMMARY,
    event_lines,
    is_finished,
)
from simfl.runs.folder.growing_file import lines_of
from simfl.runs.folder.json_files import read_json, read_provenance
from simfl.runs.folder.policies import Policies, past_scenarios, with_policy
from simfl.scenario.language.yaml import read_yaml

Row = Mapping[str, Any]
_INTEGER = re.compile(r"-?\d{1,30}")
_NO_NUMBERS = ("", "nan", "inf", "-inf")


@dataclass(frozen=True)
class Records:
    """The files of one run.

    Attributes:
        events: of the event log, without a last line that was cut short.
        events_sha256: digest of their lines.
        rounds: `rounds.csv`, a row per aggregation, after that of round 0 where there is one.
        clients: `clients.csv`, a row per participation.  Where a disk was full both may be ahead of
            the log of a run that has not finished; of such rows, which a resumed run writes anew,
            none is here.
        summary: None if the run has not finished.
        provenance: versions, seed, digest of the scenario.
        scenario: the resolved one, as plain data: nothing that it names is imported.
        scenario_bytes: as it is written.
        past: the scenarios in force before each fork, if the run is one.
    """

    events: Sequence[Row]
    events_sha256: str
    rounds: Sequence[Row]
    clients: Sequence[Row]
    summary: Row | None
    provenance: Row
    scenario: Row
    scenario_bytes: bytes
    past: Sequence[Row] = ()

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """Read a run folder.

        Raises:
            ValueError, RunError, OSError, RecursionError: one of its files is damaged.
        """
        # First, as it may end while the others are read.
        summary = read_json(folder / SUMMARY) if is_finished(folder) else None
        scenario = (folder / SCENARIO).read_bytes()
        data, _ = read_yaml(scenario.decode(), SCENARIO)
        provenance = read_provenance(folder)
        events, digest = _events(event_lines(folder))
        records = cls(
            events=events,
            events_sha256=digest,
            rounds=_table(folder / ROUNDS),
            clients=_table(folder / CLIENTS),
            summary=summary,
            provenance=provenance,
            scenario=with_policy(data, Path(SCENARIO)),
            scenario_bytes=scenario,
            past=past_scenarios(folder, len(provenance["forks"])),
        )
        if records.summary is not None or records.log != "full":
            return records
        ended, booked = sum(1 for _ in records.of("round_end")), len(records.participations)
        return replace(records, rounds=records.rounds[:ended], clients=records.clients[:booked])

    def of(self, *kinds: str) -> Iterator[tuple[int, Row]]:
        """Yield the events of some `kinds`, and their line numbers, in the order of these."""
        for line in sorted(chain.from_iterable(self._lines.get(kind, ()) for kind in kinds)):
            yield line, self.events[line - 1]

    @cached_property
    def _lines(self) -> Mapping[str, Sequence[int]]:
        """The line numbers of the events of each kind: most laws ask for a few of millions."""
        lines: dict[str, array[int]] = defaultdict(lambda: array("Q"))
        for line, event in enumerate(self.events, start=1):
            lines[event["event"]].append(line)
        return lines

    @cached_property
    def participations(self) -> Sequence[tuple[int, Row]]:
        """Participations in the log, in the order in which they were booked."""
        return list(self.of("participation"))

    @cached_property
    def segments(self) -> Sequence[Sequence[Row]]:
        """The events of each round, its `round_end` included; the last ones end with the log."""
        segments: list[list[Row]] = [[]]
        for event in self.events:
            segments[-1].append(event)
            if event["event"] == "round_end":
                segments.append([])
        return segments

    @cached_property
    def first_round(self) -> int:
        """Number of the first of `rounds`: 0 where the model that the run began with was judged."""
        rows = [event for _, event in self.of("round_end")] or self.rounds
        return 0 if rows and rows[0]["round"] == 0 else 1

    @property
    def n_rounds(self) -> int:
        """How many aggregations are in `rounds`."""
        return max(len(self.rounds) - (self.first_round == 0), 0)

    @property
    def log(self) -> str:
        """What the event log holds: full, rounds or none."""
        return str(self.provenance.get("log", "full"))

    @property
    def closed(self) -> Iterator[tuple[Row, Sequence[Row]]]:
        """The rows of `rounds.csv`, and the segments that they tell of."""
        return zip(self.rounds, self.segments, strict=False)

    def policy(self, round_: int) -> Row:
        """Return the round policy, with its options, that was in force in a round."""
        return self._policies.in_round(round_)

    @cached_property
    def _policies(self) -> Policies:
        return Policies([*self.past, self.scenario], [event for _, event in self.of("forked")])


def of_kind(segment: Sequence[Row], kind: str) -> list[Row]:
    """Return the events of a `kind`."""
    return [event for event in segment if event["event"] == kind]


def _events(lines: Iterable[str]) -> tuple[list[Row], str]:
    """Return what the lines of an event log say, and the digest of the lines.

    Millions of events have few kinds and names of facts among them: each is in memory once.
    """
    events: list[Row] = []
    digest = sha256()
    names: dict[str, str] = {}
    for line in lines:
        digest.update(f"{line}\n".encode())
        try:
            event = decode(line)
        except RunError:
            raise ValueError(f"{EVENTS}:{len(events) + 1}: is no event: {line[:80]!r}") from None
        event["event"] = names.setdefault(event["event"], event["event"])
        events.append({names.setdefault(name, name): fact for name, fact in event.items()})
    return events, digest.hexdigest()


def _table(path: Path) -> list[Row]:
    """Return the rows of a CSV file; a file that is not there yet has none."""
    rows: list[Row] = []
    try:
        table = csv.reader(lines_of(path))
        columns = next(table, [])
        for number, cells in enumerate(table, start=2):
            if len(cells) != len(columns):
                raise ValueError(
                    f"{path.name}:{number}: has {numbered(len(cells), 'cell')} below "
                    f"{numbered(len(columns), 'column')}"
                )
            rows.append(dict(zip(columns, map(value_of, cells), strict=True)))
    except csv.Error as error:
        raise ValueError(f"{path.name}:1: is no table: {error}") from error
    return rows


def value_of(cell: str) -> Any:
    """Return the number in a cell, None where there is none, or its text."""
    if cell in _NO_NUMBERS:
        return None
    if _INTEGER.fullmatch(cell):
        return int(cell)
    try:
        return float(cell)
    except ValueError:
        return cell
