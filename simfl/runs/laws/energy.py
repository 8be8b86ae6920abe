"""Joules, from phases up to the whole run."""

import math
from bisect import bisect, bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from simfl.core.units import POWER, parse_quantity
from simfl.errors import UnitError
from simfl.runs.folder.folder import CLIENTS, EVENTS, ROUNDS, SUMMARY
from simfl.runs.folder.records import Records, Row, of_kind
from simfl.runs.laws.base import ENDS, Violation, Violations
from simfl.runs.laws.clock import duration


def energy(records: Records) -> Violations:
    """Joules of participations and answers = of rounds = of the run; none is negative."""
    total_j, booked = 0.0, enumerate(records.clients, start=2)
    for number, segment in enumerate(records.segments):
        spent_j = sum(event["energy_j"] for event in of_kind(segment, "probed"))
        for _ in of_kind(segment, "participation"):
            line, part = next(booked, (0, None))
            if part is None:
                return  # the tables of an unfinished run
            if (energy_j := _joules(part, "energy_j")) < 0:
                yield Violation(CLIENTS, line, f"energy_j is {energy_j}")
            spent_j += energy_j
        total_j += spent_j
        if number < len(records.rounds):
            yield from _close(ROUNDS, number + 2, records.rounds[number], "energy_j", spent_j)
    if records.summary is not None:
        totals = records.summary["totals"]
        yield from _close(SUMMARY, 1, totals, "energy_j", total_j)
        idle_j = sum(_joules(row, "idle_energy_j") for row in records.rounds)
        idle_j += sum(event["energy_j"] for _, event in records.of("idled"))
        yield from _close(SUMMARY, 1, totals, "idle_energy_j", idle_j)


def _close(file: str, line: int, row: Row, name: str, joules: float) -> Violations:
    if not math.isclose(_joules(row, name), joules, rel_tol=1e-9, abs_tol=1e-9):
        yield Violation(file, line, f"{name} is {row[name]}, {joules} J were booked")


def _joules(row: Row, name: str) -> float:
    """Return what a row says; nothing, where no power is known and the log has 0 J."""
    joules: float = row[name] or 0.0
    return joules


def power(records: Records) -> Violations:
    """A participation costs each phase's power times its time online, and idling while it waits."""
    watts = {group["name"]: _watts(group) for group in _groups(records)}
    away = _away(records)
    polled = bool(duration((records.scenario.get("network") or {}).get("polling")))
    for line, part in records.participations:
        draw = watts.get(str(part["group"]))
        if draw is None:
            continue
        spent = list(_spent(part, away[part["client"]]))
        low, high = _while_polled(draw) if polled else (draw, draw)
        least = [sum(low[phase] * s for phase, s in phases.items()) for phases in spent]
        most = least
        if polled:
            most = [sum(high[phase] * s for phase, s in phases.items()) for phases in spent]
        waits_s = 0.0 if part["upload_end_s"] is None else part["t"] - part["upload_end_s"]
        slack_j = 1e-9 * (1 + max(most))
        top_j = [joules + draw["idle"] * waits_s + slack_j for joules in most]
        ranges = list(zip(least, top_j, strict=True))
        if not any(low - slack_j <= part["energy_j"] <= high for low, high in ranges):
            words = f"energy_j is {part['energy_j']}, by its power from {least[0]} to {top_j[0]}"
            yield Violation(EVENTS, line, words)


def _while_polled(draw: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least and the most power by phase: bytes also wait.

    Meanwhile the device idles, or, once its update has left it, may be away.
    """
    down, up, idle = draw["download"], draw["upload"], draw["idle"]
    low = {**draw, "download": min(down, idle), "upload": 0.0}
    return low, {**draw, "download": max(down, idle), "upload": max(up, idle)}


def _groups(records: Records) -> Iterable[Row]:
    fleet = records.scenario["fleet"]
    return [fleet] if isinstance(fleet, dict) else list(fleet)


def _watts(group: Row) -> dict[str, float] | None:
    """Return the power of a group by phase (None: it is not written as numbers)."""
    written, phases = group.get("power") or {}, ("idle", "download", "compute", "upload")
    try:
        return {phase: parse_quantity(written.get(phase, "0 W"), POWER) for phase in phases}
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
            name: max(math.fsum((stop, -start, *_leaves(start, stop, away))), 0.0)
            for name, start, stop in zip(under_way, starts, stops, strict=False)
        }


def _leaves(start: float, stop: float, away: list[tuple[float, float]]) -> Iterator[float]:
    """Yield when it left between `start` and `stop`, and, negative, when it came back.

    Their sum with `stop` and `-start` is how long it was online: microseconds, perhaps, of a year.
    `away` is in order.
    """
    if not away:  # as mostly
        return
    first = bisect(away, start, key=lambda period: period[1])
    after = bisect_left(away, stop, first, key=lambda period: period[0])
    for left, back in away[first:after]:
        yield max(start, left)
        yield -min(stop, back)
