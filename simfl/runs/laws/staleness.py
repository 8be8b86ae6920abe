"""How old the models are that updates start from."""

from collections import defaultdict

from simfl.runs.folder import EVENTS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records


def staleness(records: Records) -> Violations:
    """An update is as stale as the models made since its own; the models are counted."""
    version, before = 0, 0
    bases: dict[tuple[int, float], set[int]] = defaultdict(set)
    for line, event in records.of("aggregated", "dispatched", "participation"):
        if event["event"] == "aggregated":
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
