"""How good models are, and how old those that updates start from."""

from collections import defaultdict

from simfl.core.evaluation import Evaluation
from simfl.core.target import target_of
from simfl.runs.folder.criteria import criteria_of
from simfl.runs.folder.folder import EVENTS, ROUNDS, SUMMARY
from simfl.runs.folder.records import Records, of_kind
from simfl.runs.laws.base import Violation, Violations


def accuracy(records: Records) -> Violations:
    """Accuracies, where there are any, are in [0, 1]; the same in log, table and summary."""
    measured: list[float | None] = []
    criteria = criteria_of(records.scenario, records.provenance)
    for line, event in records.of("evaluated", "target"):
        share = event.get("accuracy")
        if share is not None and not 0 <= share <= 1:
            yield Violation(EVENTS, line, f"accuracy is {share}")
        if event["event"] == "evaluated":
            measured.append(share)
            evaluation = Evaluation.recorded(event)
        elif not measured or not criteria.reached(evaluation, target_of(event)):
            yield Violation(EVENTS, line, f"the target {target_of(event)} was not reached")
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


def staleness(records: Records) -> Violations:
    """An update is as stale as the models made since its own; the models are counted."""
    version, before = 0, 0
    bases: dict[tuple[int, float], set[int]] = defaultdict(set)
    for line, event in records.of("aggregated", "edge_aggregated", "dispatched", "participation"):
        if event["event"] == "edge_aggregated":
            before = version  # what is booked now has met an edge's model, made since this one
        elif event["event"] == "aggregated":
            before, version = version, event["version"]
            if not before <= version <= before + 1:
                yield Violation(EVENTS, line, f"version {version} after {before}")
        elif event["event"] == "dispatched":
            bases[event["client"], event["t"]].add(version)
        elif event["staleness"] < 0:
            yield Violation(EVENTS, line, f"staleness is {event['staleness']}")
        elif event["outcome"] in ("arrived", "discarded"):
            most = records.policy(event["round"]).get("max_staleness")
            known = {before - base for base in bases[event["client"], event["selected_s"]]}
            if event["staleness"] not in known:
                words = f"staleness is {event['staleness']}, by the log {sorted(known)}"
                yield Violation(EVENTS, line, words)
            elif most is not None and event["staleness"] > most:
                yield Violation(EVENTS, line, f"staleness is {event['staleness']} of {most}")
        elif event["outcome"] == "late" and event["staleness"]:
            known = {version - base for base in bases[event["client"], event["selected_s"]]}
            if event["staleness"] not in known:
                words = f"dropped at staleness {event['staleness']}, by the log {sorted(known)}"
                yield Violation(EVENTS, line, words)
