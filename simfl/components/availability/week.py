"""Who of a group is online during a week, before anything is simulated."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.components.availability.base import OnlineSchedule
from simfl.components.availability.spells import Spells
from simfl.core.types import Flags, Floats, Ids

WEEK_S = 7 * 86_400.0
SOON_S = (3600.0, 86_400.0)
"""Looked through before a week is, which takes seconds where sessions are short."""
HALF_HOURS = 336
"""Parts that a week is divided into."""
WATCHED = 200
"""Devices of a group that are looked at: of a larger one, they stand for all."""
_LENGTH_S = WEEK_S / HALF_HOURS
_GOLDEN = (5**0.5 - 1) / 2
LOOKS_S = (np.arange(HALF_HOURS) + np.arange(HALF_HOURS) * _GOLDEN % 1) * _LENGTH_S
"""When those are looked at whose sessions can't be listed: once in each half hour, at instants that
keep step with no period."""


@dataclass(frozen=True, eq=False)
class Online:
    """How many of a group are online, as it changes.

    Attributes:
        changes_s: `(k,)` instants, ascending, from each of which on ...
        there: `(k,)` ... so many are online.
    """

    changes_s: Floats
    there: Floats

    def at(self, instants_s: Floats) -> Floats:
        """Return `(m,)` how many are online at some instants."""
        there: Floats = np.concatenate([[0.0], self.there])
        return there[np.searchsorted(self.changes_s, instants_s, side="right")]


@dataclass(frozen=True, eq=False)
class Week(Online):
    """Who of a group is online during a week.

    Attributes:
        count: devices of the group.
        share: `(HALF_HOURS,)` the share of each half hour that they are online, on average.
        ever: how many ever are.
    """

    count: int
    share: Floats
    ever: float


def week_of(schedule: OnlineSchedule, count: int) -> Week:
    """Return the week of a group whose `count` devices are there by a schedule alone."""
    devices = watched(count)
    sessions = _sessions(schedule, devices, WEEK_S)
    if sessions is None:
        return looked_at(schedule.online, count)
    starts, ends = sessions
    steps_s, there = _steps(starts, ends)
    edges_s: Floats = np.linspace(0, WEEK_S, HALF_HOURS + 1)
    online_s: Floats = _passed(starts, edges_s) - _passed(ends, edges_s)
    share = np.clip(np.diff(online_s) / (_LENGTH_S * len(devices)), 0, 1)
    scale = count / len(devices)
    return Week(steps_s, scale * there, count, share, scale * _some(schedule, devices))


def looked_at(online: Callable[[Ids, float], Flags], count: int) -> Week:
    """Return the week of a group of which can only be asked who is online, later and later.

    Args:
        online: which of `(m,)` devices are online at an instant, seconds: `(m,)`.
        count: devices of the group.
    """
    devices = watched(count)
    looks = np.array([online(devices, float(now_s)) for now_s in LOOKS_S])
    share = looks.mean(axis=1)
    return Week(LOOKS_S, count * share, count, share, count * float(looks.any(axis=0).mean()))


def watched(count: int) -> Ids:
    """Return `(m,)` the devices of a group of `count` that are looked at."""
    return np.unique(np.linspace(0, count - 1, min(count, WATCHED)).astype(np.int64))


def most_at_once(groups: Sequence[Online]) -> float:
    """Return how many devices of several groups are online at one instant, at the most."""
    instants_s = np.concatenate([group.changes_s for group in groups])
    return float(np.sum([group.at(instants_s) for group in groups], axis=0).max(initial=0.0))


def in_words(most: float, counts: Iterable[int]) -> str:
    """Return how many of groups of so many devices are online: about, where some stand for all."""
    about = "about " if max(counts) > WATCHED else ""
    return f"{about}{round(most):,}"


def soon_there(schedules: Sequence[tuple[OnlineSchedule, int]], asked: int) -> bool:
    """Return whether so many devices are online at once at the very start, or within a day.

    False where that is not known: not all sessions can be listed.

    Args:
        schedules: of several groups, and how many devices each has.
        asked: how many of all of them.
    """
    first = sum(n * float(schedule.online(watched(n), 0.0).mean()) for schedule, n in schedules)
    if first >= asked:
        return True
    for until_s in SOON_S:
        most = _listed(schedules, until_s)
        if most is None:  # nor, then, can those of a longer time be listed
            return False
        if most >= asked:
            return True
    return False


def _listed(schedules: Sequence[tuple[OnlineSchedule, int]], until_s: float) -> float | None:
    """Return how many are online at once until then, at the most (None: can't be listed)."""
    groups = []
    for schedule, count in schedules:
        devices = watched(count)
        sessions = _sessions(schedule, devices, until_s)
        if sessions is None:
            return None
        steps_s, there = _steps(*sessions)
        groups.append(Online(steps_s, there * (count / len(devices))))
    return most_at_once(groups)


def quorum(weeks: Sequence[Week], least: int | None, asked: int) -> int:
    """Return for how many a round waits that asks so many: `least`, or all who ever come."""
    ever = max(round(sum(week.ever for week in weeks)), 1)
    return min(asked, ever) if least is None else least


def _sessions(
    schedule: OnlineSchedule, devices: Ids, until_s: float
) -> tuple[Floats, Floats] | None:
    """Return when all sessions of `devices` begin and end (None: they can't be listed)."""
    return schedule.sessions(devices, until_s) if isinstance(schedule, Spells) else None


def _steps(starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Return `(k,)` instants, ascending, and `(k,)` in how many sessions each is."""
    steps_s: Floats
    steps_s, which = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    ups = np.repeat([1.0, -1.0], len(starts))
    return steps_s, np.cumsum(np.bincount(which, ups, minlength=len(steps_s)))


def _some(schedule: OnlineSchedule, devices: Ids) -> int:
    """Return how many of `devices` are online at some instant of the week."""
    online = schedule.online(devices, 0.0)
    return sum(
        bool(there) or schedule.next_change_s(device, 0.0) < WEEK_S
        for device, there in zip(devices.tolist(), online, strict=True)
    )


def _passed(since_s: Floats, edges_s: Floats) -> Floats:
    """Return `(m,)` the seconds by each edge since those of `since_s` before it, added up."""
    ordered = np.sort(since_s)
    before = np.searchsorted(ordered, edges_s)
    sums: Floats = np.concatenate([[0.0], np.cumsum(ordered)])
    passed: Floats = before * edges_s - sums[before]
    return passed
