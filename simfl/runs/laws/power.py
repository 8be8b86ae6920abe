"""Joules by each phase's power."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from simfl.core.units import POWER, parse_quantity
from simfl.errors import UnitError
from simfl.runs.folder import EVENTS
from simfl.runs.laws.base import ENDS, Violation, Violations
from simfl.runs.records import Records, Row


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
            name: max(stop - start - _overlap(start, stop, away), 0.0)
            for name, start, stop in zip(under_way, starts, stops, strict=False)
        }


def _overlap(start: float, stop: float, away: list[tuple[float, float]]) -> float:
    return sum(max(min(stop, back) - max(start, left), 0.0) for left, back in away)
