"""Where clients are: at one place at a time, answering what they were asked."""

from collections import defaultdict
from itertools import pairwise

from simfl.runs.folder.folder import EVENTS
from simfl.runs.folder.records import Records
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.results.questions import answers


def one_place(records: Records) -> Violations:
    """No client is at work twice at a time, whether it trains or answers a selector."""
    stays: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for line, part in records.participations:
        if part["outcome"] != "skipped":
            end_s = part["t"] if part["upload_end_s"] is None else part["upload_end_s"]
            stays[part["client"]].append((part["selected_s"], end_s, line))
    for line, probe, probed in answers(records.of("probe", "probed")):
        for client in probed["answered"]:
            stays[client].append((probe["t"], probed["t"], line))
    for client, periods in stays.items():
        for (_, end_s, first), (start_s, _, second) in pairwise(sorted(periods)):
            if start_s < end_s:
                words = f"client {client} is sent out at {start_s} s; {EVENTS}:{first} keeps it "
                yield Violation(EVENTS, second, f"{words}until {end_s} s")


def questions(records: Records) -> Violations:
    """Only who was asked answers."""
    answered = {line for line, _, _ in answers(records.of("probe", "probed"))}
    for line, event in records.of("probed"):
        if line not in answered:
            yield Violation(EVENTS, line, f"nobody asked {event['answered']}")
