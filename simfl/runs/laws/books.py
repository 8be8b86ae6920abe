"""The tables and the summary against the log: who was selected, what was counted, digests."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from simfl.core.rows import COUNTED, JOULES
from simfl.core.target import MetricTarget, target_of
from simfl.runs.folder.folder import CLIENTS, EVENTS, PROVENANCE, ROUNDS, SUMMARY
from simfl.runs.folder.measures import target_key
from simfl.runs.folder.records import Records, Row, of_kind, value_of
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.laws.clock import duration

ENDS_WITH_AN_EVENT = ("rounds", "accuracy", "target", "bytes", "energy", "epsilon")
"""Stopping rules that are met when a round ends."""


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
                logged = event[1].get(column)
                unknown = column in JOULES and value is None and logged == 0
                if not (unknown or _agree(logged, value)):
                    words = f"{column} is {value}, {EVENTS}:{event[0]} has {logged}"
                    yield Violation(file, number, words)


def _agree(logged: Any, cell: Any) -> bool:
    # A name such as 12 reads like a number.
    return bool(logged == cell) or (isinstance(logged, str) and value_of(logged) == cell)


def outcomes(records: Records) -> Violations:
    """Who is selected arrives, or has another outcome: every one of them exactly one."""
    chosen: Counter[tuple[int, int]] = Counter()
    for _, event in records.of("selected"):
        chosen.update((event["round"], client) for client in set(event["clients"]))
    for line, part in records.participations:
        who = part["round"], part["client"]
        chosen[who] -= 1
        if chosen[who] < 0:
            words = f"client {who[1]} takes part in round {who[0]}, which has not selected it"
            yield Violation(EVENTS, line, f"{words} (so often)")
    if records.summary is not None and +chosen:
        (round_, client), _ = next(iter((+chosen).items()))
        words = f"client {client} is selected in round {round_} and has no participation"
        yield Violation(CLIENTS, len(records.clients) + 1, words)
    for number, (row, segment) in enumerate(records.closed, start=2):
        yield from _counted(number, row, segment)


def _counted(number: int, row: Row, segment: Sequence[Row]) -> Violations:
    """Compare the counts in a round's row with what was booked in it."""
    counts = Counter(part["outcome"] for part in of_kind(segment, "participation"))
    counts["selected"] = sum(len(set(e["clients"])) for e in of_kind(segment, "selected"))
    for name in ("selected", *COUNTED):
        if row[name] != counts[name]:
            yield Violation(ROUNDS, number, f"{name} is {row[name]}, {counts[name]} were booked")


def summary(records: Records) -> Violations:
    """The summary counts what the log tells."""
    assert records.summary is not None
    parts = [part for _, part in records.participations]
    ends_s = {row["round"]: row["end_s"] for row in records.rounds}
    reached: dict[str, float] = {}
    for line, event in records.of("target"):
        at_s = event.get("time_s", event["t"])
        if at_s != ends_s.get(event["round"]):
            words = f"a target is reached at {at_s} s, when round {event['round']} did not end"
            yield Violation(EVENTS, line, words)
        # Summaries of older versions have six digits.
        target = target_of(event)
        reached[target_key(target)] = at_s
        if not isinstance(target, MetricTarget):
            reached[format(target, "g")] = at_s
    expected = {
        "rounds": records.n_rounds,
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


def event_digest(records: Records) -> Violations:
    """The summary's digest is that of the event log."""
    assert records.summary is not None
    told, digest = records.summary["events_sha256"], records.events_sha256
    if told != digest:
        words = f"events_sha256 is {told}, that of {EVENTS} is {digest}"
        yield Violation(SUMMARY, 1, words)


def scenario_digest(records: Records) -> Violations:
    """The scenario is the one that was run."""
    digest = sha256(records.scenario_bytes).hexdigest()
    if (told := records.provenance["scenario_sha256"]) != digest:
        yield Violation(PROVENANCE, 1, f"scenario_sha256 is {told}, that of the file is {digest}")
