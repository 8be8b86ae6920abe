"""What is spent of privacy."""

from simfl.core.epsilon import ROUNDING
from simfl.runs.folder.folder import ROUNDS
from simfl.runs.folder.records import Records
from simfl.runs.laws.base import Violation, Violations


def privacy(records: Records) -> Violations:
    """Epsilon never falls, and stays within what the run was to keep to."""
    limit, before = records.scenario["rounds"]["stop"].get("epsilon"), 0.0
    for line, row in enumerate(records.rounds, start=2):
        if (spent := row.get("epsilon")) is None:
            continue
        if spent < before:
            yield Violation(ROUNDS, line, f"epsilon is {spent} after {before}")
        if limit is not None and spent > limit * (1 + ROUNDING):
            yield Violation(ROUNDS, line, f"epsilon is {spent}, the run stops at {limit}")
        before = spent
