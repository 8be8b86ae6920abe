"""Joules, from participations up to the whole run."""

import math

from simfl.runs.folder import CLIENTS, ROUNDS, SUMMARY
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records, Row, of_kind


def energy(records: Records) -> Violations:
    """Joules of participations and answers = of rounds = of the run; none is negative."""
    total_j, booked = 0.0, enumerate(records.clients, start=2)
    for number, segment in enumerate(records.segments):
        spent_j = sum(event["energy_j"] for event in of_kind(segment, "probed"))
        for _ in of_kind(segment, "participation"):
            line, part = next(booked, (0, None))
            if part is None:
                return  # the tables of an unfinished run
            if part["energy_j"] < 0:
                yield Violation(CLIENTS, line, f"energy_j is {part['energy_j']}")
            spent_j += part["energy_j"]
        total_j += spent_j
        if number < len(records.rounds):
            yield from _close(ROUNDS, number + 2, records.rounds[number], "energy_j", spent_j)
    if records.summary is not None:
        totals = records.summary["totals"]
        yield from _close(SUMMARY, 1, totals, "energy_j", total_j)
        idle_j = sum(row["idle_energy_j"] for row in records.rounds)
        yield from _close(SUMMARY, 1, totals, "idle_energy_j", idle_j)


def _close(file: str, line: int, row: Row, name: str, joules: float) -> Violations:
    if not math.isclose(row[name], joules, rel_tol=1e-9, abs_tol=1e-9):
        yield Violation(file, line, f"{name} is {row[name]}, {joules} J were booked")
