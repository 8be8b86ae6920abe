"""Accuracies, wherever they are told."""

from simfl.runs.folder import EVENTS, ROUNDS, SUMMARY
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records, of_kind


def accuracy(records: Records) -> Violations:
    """Accuracies, where there are any, are in [0, 1]; the same in log, table and summary."""
    measured: list[float | None] = []
    for line, event in records.of("evaluated", "target"):
        if event["accuracy"] is not None and not 0 <= event["accuracy"] <= 1:
            yield Violation(EVENTS, line, f"accuracy is {event['accuracy']}")
        if event["event"] == "evaluated":
            measured.append(event["accuracy"])
        elif not measured or (measured[-1] or 0.0) < event["accuracy"]:
            yield Violation(EVENTS, line, f"the target {event['accuracy']} was not reached")
    for number, (row, segment) in enumerate(records.closed, start=2):
        judged = [event["accuracy"] for event in of_kind(segment, "evaluated")] or [None]
        if row["accuracy"] != judged[-1]:
            yield Violation(ROUNDS, number, f"accuracy is {row['accuracy']}, measured {judged[-1]}")
    summary = records.summary
    if summary is not None:
        best = max((value for value in measured if value is not None), default=None)
        last = measured[-1] if measured else None
        for name, value in (("best_accuracy", best), ("final_accuracy", last)):
            if summary[name] != value:
                yield Violation(SUMMARY, 1, f"{name} is {summary[name]}, measured {value}")
