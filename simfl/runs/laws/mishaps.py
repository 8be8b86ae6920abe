"""Devices that leave, and trainings that fail."""

from bisect import bisect_left
from collections import defaultdict

from simfl.runs.folder.folder import EVENTS
from simfl.runs.folder.records import Records
from simfl.runs.laws.base import Violation, Violations

LOST = ("offline", "unfinished")
"""Outcomes of those whose training failed: it may do so as the run ends."""


def offline(records: Records) -> Violations:
    """Who is booked offline has left, or failed, while it took part."""
    gone_s: dict[int, list[float]] = defaultdict(list)
    for _, event in records.of("offline", "failed"):
        gone_s[event["client"]].append(event["t"])
    for line, part in records.participations:
        if part["outcome"] == "offline":
            client, since_s, until_s = part["client"], part["selected_s"], part["t"]
            times_s = gone_s[client]
            place = bisect_left(times_s, since_s)
            if place == len(times_s) or times_s[place] > until_s:
                words = f"client {client} is offline, but from {since_s} s to {until_s} s it "
                yield Violation(EVENTS, line, f"{words}neither left nor failed")


def failed(records: Records) -> Violations:
    """What fails is neither computed nor sent, and does not count."""
    sent_s: dict[int, float] = {}  # when each was last given something to do
    lost: set[tuple[int, float | None]] = set()
    kinds = ("dispatched", "probe", "failed", "computed", "uploaded", "participation")
    for line, event in records.of(*kinds):
        kind, client = event["event"], event.get("client", -1)
        if kind in ("dispatched", "probe"):
            sent_s.update(dict.fromkeys(event.get("asked", [client]), event["t"]))
        elif kind == "failed":
            lost.add((client, sent_s.get(client)))
        elif kind == "participation":
            if (client, event["selected_s"]) in lost and event["outcome"] not in LOST:
                yield Violation(EVENTS, line, f"client {client} failed, but is {event['outcome']}")
        elif (client, sent_s.get(client)) in lost:
            yield Violation(EVENTS, line, f"client {client} failed, but has {kind} it")
