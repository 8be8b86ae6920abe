"""The laws that every run's folder obeys, whatever the scenario and whoever wrote its components.

Each law looks at the records alone and knows nothing of how they were made.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise, zip_longest
from typing import Any

from simfl.core.units import DURATION, POWER, parse_quantity
from simfl.errors import UnitError
from simfl.runs.folder import CLIENTS, EVENTS, PROVENANCE, ROUNDS, SUMMARY
from simfl.runs.records import Records, Row

PHASES = {
    "downloaded": ("download_end_s", "download_bytes"),
    "computed": ("compute_end_s", None),
    "uploaded": ("upload_end_s", "upload_bytes"),
}
"""By event: where its instant and its bytes are in a participation, in order."""
ENDS = tuple(column for column, _ in PHASES.values())
DELIVERED = ("arrived", "discarded", "filtered")
"""Outcomes of those whose upload has ended."""
BYTES = ("download_bytes", "upload_bytes", "wasted_bytes", "probe_bytes")


@dataclass(frozen=True)
class Violation:
    """Where a law is broken.

    Attributes:
        file: of the run folder.
        row: its line, 1-based.
        words: what is there, and what should be.
    """

    file: str
    row: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.row}: {self.words}"


Violations = Iterator[Violation]


@dataclass(frozen=True)
class Law:
    """A law.

    Attributes:
        name: what it is called.
        violations: yields where it is broken.
        finished: whether it is about runs that have ended only.
        full_log: whether it is about what only a full event log says.
    """

    name: str
    violations: Callable[[Records], Violations]
    finished: bool = False
    full_log: bool = True


LAWS: list[Law] = []
"""In the order in which they are checked."""


def law(
    name: str, *, finished: bool = False, full_log: bool = True
) -> Callable[[Callable[[Records], Violations]], Callable[[Records], Violations]]:
    """Add a law."""

    def add(violations: Callable[[Records], Violations]) -> Callable[[Records], Violations]:
        LAWS.append(Law(name, violations, finished, full_log))
        return violations

    return add


@law("clock")
def clock(records: Records) -> Violations:
    """Virtual time begins at zero or later and never runs back."""
    before = 0.0
    for line, event in enumerate(records.events, start=1):
        if not before <= event["t"] < math.inf:
            yield Violation(EVENTS, line, f"t is {event['t']} after {before}")
        before = event["t"]


@law("round numbers")
def round_numbers(records: Records) -> Violations:
    """Rounds are numbered from 1 without a gap, in the log and in the table."""
    for kind in ("round", "round_end"):
        for number, (line, event) in enumerate(records.of(kind), start=1):
            if event["round"] != number:
                yield Violation(EVENTS, line, f"{kind} {event['round']}, expected {number}")
    for number, row in enumerate(records.rounds, start=1):
        if row["round"] != number:
            yield Violation(ROUNDS, number + 1, f"round {row['round']}, expected {number}")


@law("tables")
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
                if not _same(event[1].get(column), value):
                    words = f"{column} is {value}, {EVENTS}:{event[0]} has {event[1].get(column)}"
                    yield Violation(file, number, words)


def _same(logged: Any, cell: Any) -> bool:
    # A name such as 12 reads like a number.
    return bool(logged == cell) or (isinstance(logged, str) and _number(logged) == cell)


def _number(text: str) -> float | int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None


@law("one place")
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
            if all(probe[key] == event[key] for key in ("round", "report", "model"))
            and set(event["answered"]) <= set(probe["asked"])
        )
        if (probe := next(same, None)) is not None:
            asked.remove(probe)
            yield line, probe["t"], event


@law("questions")
def questions(records: Records) -> Violations:
    """Only who was asked answers."""
    answered = {line for line, _, _ in _answers(records)}
    for line, event in records.of("probed"):
        if line not in answered:
            yield Violation(EVENTS, line, f"nobody asked {event['answered']}")


@law("phases")
def phases(records: Records) -> Violations:
    """A participation's phases end one after the other, as the log says, within its time."""
    ended = {(event["client"], event["event"], event["t"]) for _, event in records.of(*PHASES)}
    for line, part in records.participations:
        ends = [part["selected_s"], *(part[name] for name in ENDS if part[name] is not None)]
        if any(later < earlier for earlier, later in pairwise([*ends, part["t"]])):
            yield Violation(EVENTS, line, f"its phases end at {ends} s, it at {part['t']} s")
        for kind, (column, _) in PHASES.items():
            at_s = part[column]
            if at_s is not None and (part["client"], kind, at_s) not in ended:
                yield Violation(EVENTS, line, f"{column} is {at_s}, but nothing is {kind} then")
        if (part["outcome"] in DELIVERED) > (part["upload_end_s"] is not None):
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload never ended")
        if part["upload_end_s"] is not None and part["compute_end_s"] is None:
            yield Violation(EVENTS, line, "it uploads what it has not computed")
        if part["outcome"] in ("offline", "skipped") and part["upload_end_s"] is not None:
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload ended")


@law("outcomes")
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
    for number, (row, segment) in enumerate(_closed(records), start=2):
        yield from _counted(number, row, segment.of("selected"), segment.of("participation"))


def _counted(number: int, row: Row, selected: list[Row], parts: list[Row]) -> Violations:
    """Compare the counts in a round's row with what was booked in it."""
    counts = Counter(part["outcome"] for part in parts)
    counts["selected"] = sum(len(set(event["clients"])) for event in selected)
    for name in ("selected", "arrived", "late", "offline", "skipped", "filtered", "discarded"):
        if row[name] != counts[name]:
            yield Violation(ROUNDS, number, f"{name} is {row[name]}, {counts[name]} were booked")


def _closed(records: Records) -> Iterator[tuple[Row, Any]]:
    """Yield the rows of `rounds.csv`, and the segments that they tell of."""
    yield from zip(records.rounds, records.segments, strict=False)


@law("bytes")
def bytes_moved(records: Records) -> Violations:
    """Bytes of transfers = of participations = of rounds, and of the whole run."""
    yield from _transfers(records)
    total: Counter[str] = Counter()
    booked = iter(records.clients)
    for number, segment in enumerate(records.segments):
        moved: Counter[str] = Counter()
        for _ in segment.of("participation"):
            if (part := next(booked, None)) is None:
                return  # the tables of an unfinished run
            moved += _moved(part)
        moved["probe_bytes"] = sum(event["bytes"] for event in segment.of("probed"))
        total.update(moved)
        if number < len(records.rounds):
            yield from _equal(ROUNDS, number + 2, records.rounds[number], moved)
    if records.summary is not None:
        yield from _equal(SUMMARY, 1, records.summary["totals"], total)


def _moved(part: Row) -> Counter[str]:
    down, up = part["download_bytes"], part["upload_bytes"]
    wasted = 0 if part["outcome"] == "arrived" else down + up
    return Counter(download_bytes=down, upload_bytes=up, wasted_bytes=wasted)


def _equal(file: str, line: int, told: Row, moved: Mapping[str, int]) -> Violations:
    for name in BYTES:
        if told[name] != moved.get(name, 0):
            yield Violation(file, line, f"{name} is {told[name]}, {moved.get(name, 0)} were booked")


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


@law("deadlines")
def deadlines(records: Records) -> Violations:
    """Nobody who is late counts as arrived, and nobody in time is called late."""
    policy = records.policy
    strict = policy["name"] == "synchronous" and policy.get("enforce", True)
    drops = strict and policy.get("late", "drop") == "drop"
    patient = policy.get("over_select", "100%") == "100%"
    for number, part in enumerate(records.clients, start=2):
        limit_s = _duration(policy.get("timeout"))
        if policy["name"] == "tiered":
            limit_s = _duration(policy.get("deadline"))
        if drops and part["round"] <= len(records.rounds):
            limit_s = records.rounds[part["round"] - 1]["deadline_s"]
        if limit_s is None:
            continue
        due_s, end_s = part["selected_s"] + limit_s, part["upload_end_s"]
        if part["outcome"] == "arrived" and end_s > due_s:
            yield Violation(CLIENTS, number, f"arrived at {end_s} s, but was due at {due_s} s")
        if drops and patient and part["outcome"] == "late" and end_s is not None:
            yield Violation(CLIENTS, number, f"late, but came at {end_s} s, due at {due_s} s")
    yield from _stop(records)


def _stop(records: Records) -> Violations:
    """Nothing happens after the run should have stopped."""
    stop = records.scenario["rounds"]["stop"]
    limit_s = _duration(stop.get("time"))
    if limit_s is not None and records.events and records.events[-1]["t"] > limit_s:
        words = f"t is {records.events[-1]['t']}, the run stops at {limit_s} s"
        yield Violation(EVENTS, len(records.events), words)
    if stop.get("rounds") is not None and len(records.rounds) > stop["rounds"]:
        yield Violation(ROUNDS, stop["rounds"] + 2, f"the run stops after {stop['rounds']} rounds")


def _duration(text: Any) -> float | None:
    """Return seconds (None: no duration is given, but none or a share of the fleet)."""
    try:
        return parse_quantity(text, DURATION)
    except UnitError:
        return None


@law("staleness")
def staleness(records: Records) -> Violations:
    """An update is as stale as the models made since its own; the models are counted."""
    version, before = 0, 0
    bases: dict[tuple[int, float], set[int]] = defaultdict(set)
    most = records.policy.get("max_staleness")
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
            known = {before - base for base in bases[event["client"], event["selected_s"]]}
            if event["staleness"] not in known:
                words = f"staleness is {event['staleness']}, by the log {sorted(known)}"
                yield Violation(EVENTS, line, words)
            elif most is not None and event["staleness"] > most:
                yield Violation(EVENTS, line, f"staleness is {event['staleness']} of {most}")


@law("energy")
def energy(records: Records) -> Violations:
    """Joules of participations and answers = of rounds = of the run; none is negative."""
    total_j, booked = 0.0, iter(records.clients)
    for number, segment in enumerate(records.segments):
        spent_j = sum(event["energy_j"] for event in segment.of("probed"))
        for _ in segment.of("participation"):
            if (part := next(booked, None)) is None:
                return
            if part["energy_j"] < 0:
                yield Violation(CLIENTS, number + 2, f"energy_j is {part['energy_j']}")
            spent_j += part["energy_j"]
        total_j += spent_j
        if number < len(records.rounds):
            yield from _close(ROUNDS, number + 2, records.rounds[number], "energy_j", spent_j)
    if records.summary is not None:
        totals = records.summary["totals"]
        yield from _close(SUMMARY, 1, totals, "energy_j", total_j)
        idle_j = sum(row["idle_energy_j"] for row in records.rounds)
        yield from _close(SUMMARY, 1, totals, "idle_energy_j", idle_j)


def _close(file: str, line: int, told: Row, name: str, joules: float) -> Violations:
    if not math.isclose(told[name], joules, rel_tol=1e-9, abs_tol=1e-9):
        yield Violation(file, line, f"{name} is {told[name]}, {joules} J were booked")


@law("power")
def power(records: Records) -> Violations:
    """A participation costs each phase's power times its time online, and idling while it waits."""
    watts = {group["name"]: _watts(group) for group in _groups(records)}
    away = _away(records)
    for line, part in records.participations:
        draw = watts.get(str(part["group"]))
        if draw is None:
            continue
        least = [
            sum(draw[phase] * seconds for phase, seconds in spent.items())
            for spent in _spent(part, away[part["client"]])
        ]
        waits_s = 0.0 if part["upload_end_s"] is None else part["t"] - part["upload_end_s"]
        slack_j = 1e-9 * (1 + max(least))
        top_j = [joules + draw["idle"] * waits_s + slack_j for joules in least]
        ranges = list(zip(least, top_j, strict=True))
        if not any(low - slack_j <= part["energy_j"] <= high for low, high in ranges):
            words = f"energy_j is {part['energy_j']}, by its power from {least[0]} to {top_j[0]}"
            yield Violation(EVENTS, line, words)


def _groups(records: Records) -> Iterable[Row]:
    fleet = records.scenario["fleet"]
    return [fleet] if isinstance(fleet, dict) else list(fleet)


def _watts(group: Row) -> dict[str, float] | None:
    """Return the power of a group by phase (None: it is not written as numbers)."""
    told, phases = group.get("power") or {}, ("idle", "download", "compute", "upload")
    try:
        return {phase: parse_quantity(told.get(phase, "0 W"), POWER) for phase in phases}
    except UnitError:
        return None


def _away(records: Records) -> dict[int, list[tuple[float, float]]]:
    """Return when clients at work were offline, by client; inf: they have not been seen since."""
    away: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, event in records.of("offline", "online", "dispatched"):
        periods = away[event["client"]]
        if periods and periods[-1][1] == math.inf:
            periods[-1] = periods[-1][0], event["t"]
        if event["event"] == "offline":
            periods.append((event["t"], math.inf))
    return away


def _spent(part: Row, away: list[tuple[float, float]]) -> Iterator[dict[str, float]]:
    """Yield the seconds online in each phase: one or, where it could have been either, two."""
    names, ends = ("download", "compute", "upload"), [part[name] for name in ENDS]
    done = [end for end in ends if end is not None]
    over_s = part["t"] if ends[2] is None else ends[2]
    if part["outcome"] == "skipped":
        yield {}
        return
    for has_model in (False, True) if ends[0] is None else (False,):
        under_way = names[1:] if has_model else names
        if ends[1] is not None and ends[0] is None and not has_model:
            continue  # it computes, so it needed no download
        stops = [*done, over_s]
        starts = [part["selected_s"], *done]
        yield {
            name: max(stop - start - _overlap(start, stop, away), 0.0)
            for name, start, stop in zip(under_way, starts, stops, strict=False)
        }


def _overlap(start: float, stop: float, away: list[tuple[float, float]]) -> float:
    return sum(max(min(stop, back) - max(start, left), 0.0) for left, back in away)


@law("accuracy")
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
    for number, (row, segment) in enumerate(_closed(records), start=2):
        told = [event["accuracy"] for event in segment.of("evaluated")] or [None]
        if row["accuracy"] != told[-1]:
            yield Violation(ROUNDS, number, f"accuracy is {row['accuracy']}, measured {told[-1]}")
    summary = records.summary
    if summary is not None:
        best = max((value for value in measured if value is not None), default=None)
        last = measured[-1] if measured else None
        for name, value in (("best_accuracy", best), ("final_accuracy", last)):
            if summary[name] != value:
                yield Violation(SUMMARY, 1, f"{name} is {summary[name]}, measured {value}")


@law("summary", finished=True)
def summary(records: Records) -> Violations:
    """The summary counts what the log tells."""
    assert records.summary is not None
    parts = [part for _, part in records.participations]
    reached = {f"{event['accuracy']:g}": event["t"] for _, event in records.of("target")}
    expected = {
        "rounds": len(records.rounds),
        "virtual_time_s": records.events[-1]["t"] if records.events else 0.0,
        "participations": dict(Counter(part["outcome"] for part in parts)),
        "distinct_participants": len(
            {part["client"] for part in parts if part["outcome"] == "arrived"}
        ),
    }
    for name, value in expected.items():
        if records.summary[name] != value:
            words = f"{name} is {records.summary[name]}, by the log {value}"
            yield Violation(SUMMARY, 1, words)
    for target, at in records.summary["targets"].items():
        if (at and at["time_s"]) != reached.get(target):
            words = f"target {target} is reached at {at}, by the log at {reached.get(target)} s"
            yield Violation(SUMMARY, 1, words)


@law("trainings", finished=True)
def trainings(records: Records) -> Violations:
    """Every order is computed, dropped or still open; nothing that was dropped is computed."""
    assert records.summary is not None
    counts, sent = records.summary["trainings"], sum(1 for _ in records.of("dispatched"))
    balance = counts["issued"] - counts["dropped"] - counts["open"]
    if not records.summary["time_only"] and counts["computed"] != balance:
        yield Violation(SUMMARY, 1, f"{counts['computed']} are computed, {balance} should be")
    if counts["issued"] < sent:
        yield Violation(SUMMARY, 1, f"{counts['issued']} are issued, {sent} dispatched")


@law("event digest", finished=True, full_log=False)
def event_digest(records: Records) -> Violations:
    """The summary's digest is that of the event log."""
    assert records.summary is not None
    digest = sha256("".join(f"{line}\n" for line in records.lines).encode()).hexdigest()
    if records.summary["events_sha256"] != digest:
        words = f"events_sha256 is {records.summary['events_sha256']}, that of {EVENTS} is {digest}"
        yield Violation(SUMMARY, 1, words)


@law("scenario digest", full_log=False)
def scenario_digest(records: Records) -> Violations:
    """The scenario is the one that was run."""
    digest = sha256(records.scenario_bytes).hexdigest()
    if (told := records.provenance["scenario_sha256"]) != digest:
        yield Violation(PROVENANCE, 1, f"scenario_sha256 is {told}, that of the file is {digest}")
