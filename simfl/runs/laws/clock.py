"""How virtual time and rounds count."""

import math

from simfl.runs.folder import EVENTS, ROUNDS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records


def clock(records: Records) -> Violations:
    """Virtual time begins at zero or later and never runs back."""
    before = 0.0
    for line, event in enumerate(records.events, start=1):
        if not before <= event["t"] < math.inf:
            yield Violation(EVENTS, line, f"t is {event['t']} after {before}")
        before = event["t"]


def round_numbers(records: Records) -> Violations:
    """Rounds are numbered from 1 without a gap, in the log and in the table."""
    for kind in ("round", "round_end"):
        for number, (line, event) in enumerate(records.of(kind), start=1):
            if event["round"] != number:
                yield Violation(EVENTS, line, f"{kind} {event['round']}, expected {number}")
    for number, row in enumerate(records.rounds, start=1):
        if row["round"] != number:
            yield Violation(ROUNDS, number + 1, f"round {row['round']}, expected {number}")
