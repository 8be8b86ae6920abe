"""How virtual time and rounds count, and what is due when."""

import math
from itertools import pairwise
from typing import Any

from simfl.core.units import DURATION, parse_quantity
from simfl.core.words import few, numbered
from simfl.errors import UnitError
from simfl.runs.folder.folder import CLIENTS, EVENTS, ROUNDS
from simfl.runs.folder.records import Records
from simfl.runs.laws.base import DELIVERED, ENDS, PHASES, Violation, Violations
from simfl.sim.timeline import ROUNDING

KNOWN = frozenset(
    {"synchronous", "semi_synchronous", "fedbuff", "fedasync", "tiered", "hierarchical"}
)
"""Policies whose deadlines are known here, by name."""


def clock(records: Records) -> Violations:
    """Virtual time begins at zero or later and never runs back."""
    before = 0.0
    for line, event in enumerate(records.events, start=1):
        if not before <= event["t"] < math.inf:
            yield Violation(EVENTS, line, f"t is {event['t']} after {before}")
        before = event["t"]


def round_numbers(records: Records) -> Violations:
    """Rounds are numbered without a gap, in the log and in the table: from 1, or 0 at 0 s."""
    first = records.first_round
    for kind, start in (("round", 1), ("round_end", first)):
        for number, (line, event) in enumerate(records.of(kind), start=start):
            if event["round"] != number:
                yield Violation(EVENTS, line, f"{kind} {event['round']}, expected {number}")
            if number == 0 and event["t"] > 0:
                yield Violation(EVENTS, line, f"round 0 ends at {event['t']} s, not at 0 s")
    for line, row in enumerate(records.rounds, start=2):
        if row["round"] != (number := line - 2 + first):
            yield Violation(ROUNDS, line, f"round {row['round']}, expected {number}")


def phases(records: Records) -> Violations:
    """A participation's phases end one after the other, as the log says, within its time."""
    ended = {(event["client"], event["event"], event["t"]) for _, event in records.of(*PHASES)}
    for line, part in records.participations:
        ends = [part["selected_s"], *(part[name] for name in ENDS if part[name] is not None)]
        if any(later < earlier for earlier, later in pairwise([*ends, part["t"]])):
            yield Violation(EVENTS, line, f"its phases end at {ends} s, it at {part['t']} s")
        for kind, (column, _) in PHASES.items():
            at_s = part[column]
            if at_s is not None and (part["client"], kind, at_s) not in ended:
                yield Violation(EVENTS, line, f"{column} is {at_s}, but nothing is {kind} then")
        if (part["outcome"] in DELIVERED) > (part["upload_end_s"] is not None):
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload never ended")
        if part["upload_end_s"] is not None and part["compute_end_s"] is None:
            yield Violation(EVENTS, line, "it uploads what it has not computed")
        if part["outcome"] in ("offline", "skipped") and part["upload_end_s"] is not None:
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload ended")


def deadlines(records: Records) -> Violations:
    """Nobody who is late counts as arrived, and nobody in time is called late."""
    shown_s = _first_called_off_s(records)
    abandoned = {event["round"] for _, event in records.of("abandoned")}
    for number, part in enumerate(records.clients, start=2):
        policy = records.policy(part["round"])
        strict = policy["name"] == "synchronous" and policy.get("enforce", True)
        drops = strict and policy.get("late", "drop") == "drop"
        waits = drops and policy.get("over_select", "100%") == "100%"
        limit_s = duration(policy.get("timeout"))
        if policy["name"] in ("tiered", "hierarchical"):
            limit_s = duration(policy.get("deadline")) or shown_s.get(id(policy))
            waits = policy["name"] == "hierarchical"
        if drops and part["round"] <= records.n_rounds:
            limit_s = records.rounds[part["round"] - records.first_round]["deadline_s"]
        if limit_s is None:
            continue
        due_s, end_s = part["selected_s"] + limit_s, part["upload_end_s"]
        if part["outcome"] == "arrived" and end_s > due_s * (1 + ROUNDING):
            yield Violation(CLIENTS, number, f"arrived at {end_s} s, but was due at {due_s} s")
        if part["round"] in abandoned:
            if part["outcome"] == "arrived":
                words = f"arrived, but round {part['round']} was abandoned"
                yield Violation(CLIENTS, number, words)
        elif waits and part["outcome"] == "late" and end_s is not None:
            yield Violation(CLIENTS, number, f"late, but came at {end_s} s, due at {due_s} s")


def abandoned_rounds(records: Records) -> Violations:
    """A round is abandoned if, and only if, fewer updates come in time than are needed."""
    told = {event["round"]: (line, event) for line, event in records.of("abandoned")}
    for line, row in enumerate(records.rounds, start=2):
        policy = records.policy(row["round"])
        least = policy.get("min_updates", 1)
        if row["round"] not in told:
            counted = row["arrived"] + row["filtered"] + row["discarded"]
            if 0 < counted < least:
                yield Violation(ROUNDS, line, f"{counted} updates, but it takes {least}")
        elif row["arrived"]:
            yield Violation(ROUNDS, line, "it was abandoned, but updates counted")
    for line, event in told.values():
        if event["arrived"] >= event["needed"]:
            words = f"abandoned with {event['arrived']} of {event['needed']} updates"
            yield Violation(EVENTS, line, words)


def _first_called_off_s(records: Records) -> dict[int, float]:
    """Return after how long somebody was called late, at the least, by the id of each policy.

    Of tiers and edges it is their deadline, where that is a share of the fleet, whose devices no
    file knows.
    """
    shown_s: dict[int, float] = {}
    for _, part in records.participations:
        if part["outcome"] == "late":
            policy, after_s = id(records.policy(part["round"])), part["t"] - part["selected_s"]
            shown_s[policy] = min(after_s, shown_s.get(policy, math.inf))
    return shown_s


def own_deadlines(records: Records) -> str:
    """Return whose rounds `deadlines` does not know: those of somebody's own policies."""
    names = {records.policy(part["round"])["name"] for part in records.clients}
    own = sorted(names - KNOWN)
    return f"only the code of {few(own)} says when its clients are late" if own else ""


def end(records: Records) -> Violations:
    """Nothing happens after the run should have stopped."""
    stop = records.scenario["rounds"]["stop"]
    limit_s = duration(stop.get("time"))
    last_s = records.events[-1]["t"] if records.events else 0.0
    if limit_s is not None and last_s > limit_s * (1 + ROUNDING):
        words = f"t is {last_s}, the run stops at {limit_s} s"
        yield Violation(EVENTS, len(records.events), words)
    if stop.get("rounds") is not None and records.n_rounds > stop["rounds"]:
        line = stop["rounds"] - records.first_round + 3
        yield Violation(ROUNDS, line, f"the run stops after {numbered(stop['rounds'], 'round')}")


def duration(text: Any) -> float | None:
    """Return seconds (None: no duration is given, but none or a share of the fleet)."""
    try:
        return parse_quantity(text, DURATION)
    except UnitError:
        return None
