"""Bytes, from transfers up to the whole run."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from simfl.runs.folder import CLIENTS, ROUNDS, SUMMARY
from simfl.runs.laws.base import PHASES, Violation, Violations
from simfl.runs.records import Records, Row, of_kind

BYTES = ("download_bytes", "upload_bytes", "wasted_bytes", "probe_bytes")


def bytes_moved(records: Records) -> Violations:
    """Bytes of transfers = of participations = of rounds, and of the whole run."""
    yield from _transfers(records)
    total: Counter[str] = Counter()
    booked = iter(records.clients)
    for number, segment in enumerate(records.segments):
        moved: Counter[str] = Counter()
        for _ in of_kind(segment, "participation"):
            if (part := next(booked, None)) is None:
                return  # the tables of an unfinished run
            moved += _moved(part)
        moved["probe_bytes"] = sum(event["bytes"] for event in of_kind(segment, "probed"))
        total.update(moved)
        if number < len(records.rounds):
            yield from _equal(ROUNDS, number + 2, records.rounds[number], moved)
    if records.summary is not None:
        yield from _equal(SUMMARY, 1, records.summary["totals"], total)


def _moved(part: Row) -> Counter[str]:
    down, up = part["download_bytes"], part["upload_bytes"]
    wasted = 0 if part["outcome"] == "arrived" else down + up
    return Counter(download_bytes=down, upload_bytes=up, wasted_bytes=wasted)


def _equal(file: str, line: int, row: Row, moved: Mapping[str, int]) -> Violations:
    for name in BYTES:
        if row[name] != moved.get(name, 0):
            yield Violation(file, line, f"{name} is {row[name]}, {moved.get(name, 0)} were booked")


def _transfers(records: Records) -> Violations:
    """Compare the bytes of each participation with those of the transfers in the log."""
    moved: dict[tuple[int, str, float], set[int]] = defaultdict(set)
    for _, event in records.of("downloaded", "uploaded"):
        moved[event["client"], event["event"], event["t"]].add(event["bytes"])
    for number, part in enumerate(records.clients, start=2):
        for kind, (at_s, size) in PHASES.items():
            sizes = moved.get((part["client"], kind, part[at_s])) if size is not None else None
            if size is not None and sizes is not None and part[size] not in sizes:
                words = f"{size} is {part[size]}, the log has {sorted(sizes)}"
                yield Violation(CLIENTS, number, words)
            if size is not None and part[size] < 0:
                yield Violation(CLIENTS, number, f"{size} is {part[size]}")
