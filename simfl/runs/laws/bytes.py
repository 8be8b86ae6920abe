"""Bytes, from transfers up to the whole run."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from simfl.core.rows import MOVED
from simfl.runs.folder.folder import CLIENTS, EVENTS, ROUNDS, SUMMARY
from simfl.runs.folder.records import Records, Row, of_kind
from simfl.runs.laws.base import PHASES, Violation, Violations

BYTES = (*MOVED, "wasted_bytes")
DIRECTIONS = {"down": "download_bytes", "up": "upload_bytes"}
BACKHAUL = "backhaul_bytes"
"""Of the bytes down and up those between edge servers and the cloud, where there are any."""


def bytes_moved(records: Records) -> Violations:
    """Bytes of transfers = of participations (and a backhaul) = of rounds, and of the whole run."""
    yield from _transfers(records)
    total: Counter[str] = Counter()
    booked = iter(records.clients)
    for number, segment in enumerate(records.segments):
        moved: Counter[str] = Counter()
        for _ in of_kind(segment, "participation"):
            if (part := next(booked, None)) is None:
                return  # the tables of an unfinished run
            moved.update(_moved(part))
        moved["probe_bytes"] = sum(event["bytes"] for event in of_kind(segment, "probed"))
        for event in of_kind(segment, "backhaul"):
            moved[BACKHAUL] += event["bytes"]
            moved[DIRECTIONS[event["direction"]]] += event["bytes"]
        total.update(moved)
        if number < len(records.rounds):
            yield from _equal(ROUNDS, number + 2, records.rounds[number], moved)
    if records.summary is not None:
        totals = records.summary["totals"]
        yield from _equal(SUMMARY, 1, totals, total)
        if (told := totals.get(BACKHAUL, 0)) != total[BACKHAUL]:
            yield Violation(SUMMARY, 1, f"{BACKHAUL} is {told}, {total[BACKHAUL]} were booked")


def _moved(part: Row) -> dict[str, int]:
    down, up = part["download_bytes"], part["upload_bytes"]
    wasted = 0 if part["outcome"] == "arrived" else down + up
    return {"download_bytes": down, "upload_bytes": up, "wasted_bytes": wasted}


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
            if size is None:
                continue
            sizes = moved.get((part["client"], kind, part[at_s]))
            if sizes is not None and part[size] not in sizes:
                words = f"{size} is {part[size]}, the log has {sorted(sizes)}"
                yield Violation(CLIENTS, number, words)
            if part[size] < 0:
                yield Violation(CLIENTS, number, f"{size} is {part[size]}")


def in_flight(records: Records) -> Violations:
    """Rounds tell the bytes of those at work: of all transfers that are over and not booked."""
    moved: dict[tuple[int, float], int] = {}
    at_work: dict[int, tuple[int, float]] = {}  # who moves bytes, and since when
    broken: set[int] = set()  # a part of a transfer moved, and nobody has told how much
    asked = 0
    for line, event in enumerate(records.events, start=1):
        kind, client = event["event"], event.get("client", -1)
        if kind == "dispatched":
            at_work[client] = client, event["t"]
            moved[at_work[client]] = 0
        elif kind in ("downloaded", "uploaded") and client in at_work:
            moved[at_work[client]] += event["bytes"]
        elif kind == "offline" and client in at_work:
            broken.add(client)
        elif kind == "participation":
            moved.pop((client, event["selected_s"]), None)
            if at_work.get(client) == (client, event["selected_s"]):
                broken.discard(client)
        elif kind == "probe":
            asked += 1
            for who in event["asked"]:
                at_work.pop(who, None)
        elif kind == "probed":
            asked -= 1
        elif kind == "round_end" and "in_flight_bytes" in event and not asked:
            told, found = event["in_flight_bytes"], sum(moved.values())
            if told < found or (told > found and not broken):
                words = f"in_flight_bytes is {told}, the log has transfers of {found}"
                yield Violation(EVENTS, line, words)
