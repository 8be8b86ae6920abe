"""What becomes of whoever is selected."""

from collections import Counter
from collections.abc import Sequence

from simfl.runs.folder import CLIENTS, EVENTS, ROUNDS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records, Row, of_kind


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
    for name in ("selected", "arrived", "late", "offline", "skipped", "filtered", "discarded"):
        if row[name] != counts[name]:
            yield Violation(ROUNDS, number, f"{name} is {row[name]}, {counts[name]} were booked")
