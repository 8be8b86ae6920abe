"""Deadlines of participations and the end of a run."""

from typing import Any

from simfl.core.units import DURATION, parse_quantity
from simfl.errors import UnitError
from simfl.runs.folder import CLIENTS, EVENTS, ROUNDS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records


def deadlines(records: Records) -> Violations:
    """Nobody who is late counts as arrived, and nobody in time is called late."""
    for number, part in enumerate(records.clients, start=2):
        policy = records.policy(part["round"])
        strict = policy["name"] == "synchronous" and policy.get("enforce", True)
        drops = strict and policy.get("late", "drop") == "drop"
        patient = policy.get("over_select", "100%") == "100%"
        limit_s = duration(policy.get("timeout"))
        if policy["name"] == "tiered":
            limit_s = duration(policy.get("deadline"))
        if drops and part["round"] <= len(records.rounds):
            limit_s = records.rounds[part["round"] - 1]["deadline_s"]
        if limit_s is None:
            continue
        due_s, end_s = part["selected_s"] + limit_s, part["upload_end_s"]
        if part["outcome"] == "arrived" and end_s > due_s:
            yield Violation(CLIENTS, number, f"arrived at {end_s} s, but was due at {due_s} s")
        if drops and patient and part["outcome"] == "late" and end_s is not None:
            yield Violation(CLIENTS, number, f"late, but came at {end_s} s, due at {due_s} s")
    yield from _stop(records)


def _stop(records: Records) -> Violations:
    """Nothing happens after the run should have stopped."""
    stop = records.scenario["rounds"]["stop"]
    limit_s = duration(stop.get("time"))
    if limit_s is not None and records.events and records.events[-1]["t"] > limit_s:
        words = f"t is {records.events[-1]['t']}, the run stops at {limit_s} s"
        yield Violation(EVENTS, len(records.events), words)
    if stop.get("rounds") is not None and len(records.rounds) > stop["rounds"]:
        yield Violation(ROUNDS, stop["rounds"] + 2, f"the run stops after {stop['rounds']} rounds")


def duration(text: Any) -> float | None:
    """Return seconds (None: no duration is given, but none or a share of the fleet)."""
    try:
        return parse_quantity(text, DURATION)
    except UnitError:
        return None
