"""What the summary counts."""

from collections import Counter

from simfl.runs.folder import SUMMARY
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.laws.deadlines import duration
from simfl.runs.records import Records, Row

ENDS_WITH_AN_EVENT = ("rounds", "accuracy", "bytes", "energy")
"""Stopping rules that are met when a round ends."""


def summary(records: Records) -> Violations:
    """The summary counts what the log tells."""
    assert records.summary is not None
    parts = [part for _, part in records.participations]
    reached = {f"{event['accuracy']:g}": event["t"] for _, event in records.of("target")}
    expected = {
        "rounds": len(records.rounds),
        "participations": dict(Counter(part["outcome"] for part in parts)),
        "distinct_participants": len(
            {part["client"] for part in parts if part["outcome"] == "arrived"}
        ),
    }
    for name, value in expected.items():
        if records.summary[name] != value:
            words = f"{name} is {records.summary[name]}, by the log {value}"
            yield Violation(SUMMARY, 1, words)
    yield from _end(records, records.summary)
    for target, at in records.summary["targets"].items():
        if (at and at["time_s"]) != reached.get(target):
            words = f"target {target} is reached at {at}, by the log at {reached.get(target)} s"
            yield Violation(SUMMARY, 1, words)


def _end(records: Records, summary: Row) -> Violations:
    """A run ends with its last event; when its time is up, or when nobody is left, maybe later."""
    told_s, last_s = summary["virtual_time_s"], records.events[-1]["t"] if records.events else 0.0
    limit_s = duration(records.scenario["rounds"]["stop"].get("time"))
    later = told_s == limit_s if summary["finished"] == "time" else told_s > last_s
    if told_s != last_s and not (later and summary["finished"] not in ENDS_WITH_AN_EVENT):
        yield Violation(SUMMARY, 1, f"virtual_time_s is {told_s}, by the log {last_s}")


def trainings(records: Records) -> Violations:
    """Every order is computed, dropped or still open; nothing that was dropped is computed."""
    assert records.summary is not None
    counts, sent = records.summary["trainings"], sum(1 for _ in records.of("dispatched"))
    balance = counts["issued"] - counts["dropped"] - counts["open"]
    if not records.summary["time_only"] and counts["computed"] != balance:
        yield Violation(SUMMARY, 1, f"{counts['computed']} are computed, {balance} should be")
    if counts["issued"] < sent:
        yield Violation(SUMMARY, 1, f"{counts['issued']} are issued, {sent} dispatched")
