"""Where clients are: at one place at a time, answering what they were asked."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from simfl.runs.folder import EVENTS
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records, Row


def one_place(records: Records) -> Violations:
    """No client is at work twice at a time, whether it trains or answers a selector."""
    stays: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for line, part in records.participations:
        if part["outcome"] != "skipped":
            end_s = part["t"] if part["upload_end_s"] is None else part["upload_end_s"]
            stays[part["client"]].append((part["selected_s"], end_s, line))
    for line, began_s, probed in _answers(records):
        for client in probed["answered"]:
            stays[client].append((began_s, probed["t"], line))
    for client, periods in stays.items():
        for (_, end_s, first), (start_s, _, second) in pairwise(sorted(periods)):
            if start_s < end_s:
                words = f"client {client} is sent out at {start_s} s; {EVENTS}:{first} keeps it "
                yield Violation(EVENTS, second, f"{words}until {end_s} s")


def _answers(records: Records) -> Iterator[tuple[int, float, Row]]:
    """Yield the line of each answer to a question, when that was asked, and the answer."""
    asked: list[Row] = []
    for line, event in records.of("probe", "probed"):
        if event["event"] == "probe":
            asked.append(event)
            continue
        same = (
            probe
            for probe in asked
            if all(probe.get(key) == event.get(key) for key in ("round", "turn", "report", "model"))
            and set(event["answered"]) <= set(probe["asked"])
        )
        if (probe := next(same, None)) is not None:
            asked.remove(probe)
            yield line, probe["t"], event


def questions(records: Records) -> Violations:
    """Only who was asked answers."""
    answered = {line for line, _, _ in _answers(records)}
    for line, event in records.of("probed"):
        if line not in answered:
            yield Violation(EVENTS, line, f"nobody asked {event['answered']}")
