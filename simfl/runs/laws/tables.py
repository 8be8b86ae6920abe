"""The tables against the log."""

from itertools import zip_longest
from typing import Any

from simfl.runs.folder import CLIENTS, EVENTS, ROUNDS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records, value_of


def tables(records: Records) -> Violations:
    """Both tables say what the log says; those of an unfinished run may end earlier."""
    for file, kind, rows in (
        (CLIENTS, "participation", records.clients),
        (ROUNDS, "round_end", records.rounds),
    ):
        pairs = zip_longest(list(records.of(kind)), rows)
        for number, (event, row) in enumerate(pairs, start=2):
            if row is None:
                if records.summary is not None:
                    yield Violation(file, number, f"{EVENTS}:{event[0]} is missing here")
                break
            if event is None:
                yield Violation(file, number, f"has no {kind} in {EVENTS}")
                break
            for column, value in row.items():
                if not _agree(event[1].get(column), value):
                    words = f"{column} is {value}, {EVENTS}:{event[0]} has {event[1].get(column)}"
                    yield Violation(file, number, words)


def _agree(logged: Any, cell: Any) -> bool:
    # A name such as 12 reads like a number.
    return bool(logged == cell) or (isinstance(logged, str) and value_of(logged) == cell)
