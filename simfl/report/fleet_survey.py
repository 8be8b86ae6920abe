"""A fleet before anything is trained: how fast, how well connected, how often online, who is late.

The percentiles are those of the very devices that a run of the scenario would have; the expected
round is exact for a cohort drawn uniformly from those that hold data, everybody online and every
link its own.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.build.builder import Builder
from simfl.components.selectors.base import Reports, Selector, View
from simfl.coordinators.base import Choosing
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.core.types import Floats, Ids
from simfl.report import formats
from simfl.scenario.fleet import Group
from simfl.sim.fleet import DeviceGroup
from simfl.sim.server.server import Server
from simfl.sim.timeline import Timeline

WEEK_S = 7 * formats.DAY_S
INSTANTS = 336
"""Half-hours of a week: when availability is looked at."""
WATCHED = 200
"""Devices of a group whose availability is looked at."""
NUMBERS = ("compute", "downlink", "uplink", "latency", "samples", "round")
PHASES = ("download", "compute", "upload")


@dataclass(frozen=True)
class Spread:
    """Percentiles of one number over devices (infinite: unlimited)."""

    p5: float
    p50: float
    p95: float

    @classmethod
    def of(cls, values: Floats | Ids) -> "Spread":
        """Return the percentiles of `values`, each of them one of the values; NaN of none."""
        if not len(values):
            return cls(math.nan, math.nan, math.nan)
        percentiles = np.percentile(values, [5, 50, 95], method="inverted_cdf")
        return cls(*(float(value) for value in percentiles))


@dataclass(frozen=True)
class GroupFacts:
    """One group of the fleet, or all of it.

    Attributes:
        name: of the group.
        count: devices.
        numbers: percentiles of compute (samples/s), downlink and uplink (bit/s), latency (s),
            samples held, and the time of a full round alone on its links (s).
        phases: mean seconds of a full round by phase.
        online: share of time online, over a week.
        in_time: share that can finish the full workload by the deadline (NaN: there is none).
        without_data: devices that hold no samples and never take part.
        without_memory: devices that can't hold the training in memory.
    """

    name: str
    count: int
    numbers: Mapping[str, Spread]
    phases: Mapping[str, float]
    online: float
    in_time: float
    without_data: int
    without_memory: int


@dataclass(frozen=True, eq=False)
class FleetFacts:
    """What is known of a fleet before it is used.

    Attributes:
        groups: in the order of the scenario; where there are several, all devices come last.
        clients: wanted per round.
        asked: selected per round.
        deadline_s: of a round (infinite: none).
        selector: who chooses the clients.
        asked_s: how long what the selector asks before it first chooses takes (0: it asks nothing).
        expected_round_s: mean duration of a synchronous round, what participants measure for the
            selector included, what it asks before choosing left out.
        columns: `(n,)` each number of every device.
        starts: name and first device of each group.
        week: per group `(instants,)` share online over a week.
    """

    groups: list[GroupFacts]
    clients: int
    asked: int
    deadline_s: float
    selector: str
    asked_s: float
    expected_round_s: float
    columns: Mapping[str, Floats]
    starts: list[tuple[str, int]]
    week: Mapping[str, Floats]

    def members(self) -> list[tuple[str, Ids]]:
        """Return the devices of each group."""
        ends = [*(first for _, first in self.starts[1:]), len(self.columns["compute"])]
        return [
            (name, np.arange(first, end))
            for (name, first), end in zip(self.starts, ends, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data; what is infinite or unknown is None."""
        return {
            "devices": self.groups[-1].count,
            "clients": self.clients,
            "asked": self.asked,
            "deadline_s": _plain(self.deadline_s),
            "selector": self.selector,
            "asked_s": _plain(self.asked_s),
            "expected_round_s": _plain(self.expected_round_s),
            "groups": [_plain(asdict(group)) for group in self.groups],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def survey(builder: Builder) -> FleetFacts:
    """Draw the fleet of a scenario and look at it.

    Raises:
        InputError: the scenario's data are missing, or its fleet can't be drawn.
    """
    selector = builder.scenario.selection
    timeline = Timeline()
    server = builder.server(timeline, _Asking(Choosing(selector.fresh(), builder.seeds)))
    fleet = builder.fleet
    round_s = server.nominal_round_s(everybody=True)
    down_s, compute_s, up_s = server.nominal_phases_s()
    columns = {
        "compute": fleet.rate,
        "downlink": fleet.downlink_bps,
        "uplink": fleet.uplink_bps,
        "latency": fleet.latency_s,
        "samples": fleet.samples.astype(np.float64),
        "round": round_s,
        "download_s": down_s,
        "compute_s": compute_s,
        "upload_s": up_s,
    }
    policy = builder.scenario.rounds.policy
    limit_s = server.deadline_s(getattr(policy, "deadline", None))
    enforced_s = limit_s if getattr(policy, "enforce", True) else math.inf
    size = builder.settings.memory_bytes
    holds = np.ones(len(fleet), dtype=np.bool_)
    if fleet.memory_bytes is not None:
        holds = fleet.memory_bytes >= size
    week = {
        group.name: _online(group, drawn, builder)
        for group, drawn in zip(builder.scenario.fleet, fleet.groups, strict=True)
    }
    weights = [group.count for group in fleet.groups]
    facts = [
        _facts(
            group.name,
            np.arange(group.first, group.first + group.count),
            columns,
            float(week[group.name].mean()),
            limit_s,
            holds,
        )
        for group in fleet.groups
    ]
    if len(facts) > 1:
        online = float(np.average([one.online for one in facts], weights=weights))
        everybody = np.arange(len(fleet))
        facts.append(_facts("all", everybody, columns, online, limit_s, holds))
    able = np.flatnonzero((fleet.samples > 0) & holds)
    wanted = min(builder.settings.clients, len(able))
    asked = min(_clients_asked(builder), len(able))
    return FleetFacts(
        facts,
        wanted,
        asked,
        limit_s,
        selector.name,
        _asking_s(timeline, server, asked) if type(selector).probe is not Selector.probe else 0.0,
        expected_order(np.minimum(round_s[able], enforced_s), asked, wanted),
        columns,
        [(group.name, group.first) for group in fleet.groups],
        week,
    )


def _asking_s(timeline: Timeline, server: Server, clients: int) -> float:
    """Return how long the selector's questions before the first round take."""
    took_s = 0.0

    def listen(now_s: float, kind: str, _: Mapping[str, Any]) -> None:
        nonlocal took_s
        took_s += {"probe": -now_s, "probed": now_s}.get(kind, 0.0)

    timeline.listen(listen)
    server.open_round()
    timeline.run(until=timeline.process(server.select(clients)))
    return took_s


class _Asking(TimeOnlyCoordinator):
    """Asks what the selector asks, and then chooses without what nobody has computed."""

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        return [int(client) for client in view.draw(k, self._seeds.stream("selection"))]


def _clients_asked(builder: Builder) -> int:
    more = float(getattr(builder.scenario.rounds.policy, "over_select", 1.0))
    return math.ceil(round(builder.settings.clients * more, 9))


def _facts(
    name: str,
    devices: Ids,
    columns: Mapping[str, Floats],
    online: float,
    limit_s: float,
    holds: NDArray[np.bool_],
) -> GroupFacts:
    able = devices[columns["samples"][devices] > 0]
    late = columns["round"][able] > limit_s
    return GroupFacts(
        name=name,
        count=len(devices),
        numbers={
            number: Spread.of(columns[number][able if number == "round" else devices])
            for number in NUMBERS
        },
        phases={
            phase: float(columns[f"{phase}_s"][able].mean()) if len(able) else math.nan
            for phase in PHASES
        },
        online=online,
        in_time=float(1 - late.mean()) if len(able) and math.isfinite(limit_s) else math.nan,
        without_data=len(devices) - len(able),
        without_memory=int((~holds[devices]).sum()),
    )


def _online(written: Group, group: DeviceGroup, builder: Builder) -> Floats:
    """Return `(instants,)` the share of a group's devices that is online over a week."""
    # A schedule of its own: each is asked about instants in their order.
    schedule = written.availability.schedule(
        group.count, group.name, builder.seeds, builder.scenario.root
    )
    watched = np.unique(np.linspace(0, group.count - 1, min(group.count, WATCHED)).astype(np.int64))
    instants = (np.arange(INSTANTS) + 0.5) * (WEEK_S / INSTANTS)
    return np.array([schedule.online(watched, float(now)).mean() for now in instants])


def expected_order(times: Floats, drawn: int, rank: int) -> float:
    """Return the mean of the `rank`-th smallest of `drawn` of `times`, drawn without replacement.

    The i-th smallest of n times is it with probability C(i-1, r-1) C(n-i, m-r) / C(n, m).

    >>> expected_order(np.array([1.0, 2.0, 3.0]), 2, 2)  # the maxima 2, 3 and 3
    2.6666666666666665
    """
    from scipy.special import gammaln

    n = len(times)
    if not n:
        return math.nan
    i = np.arange(rank, n - drawn + rank + 1, dtype=np.float64)

    def log_choose(of: Floats, some: int) -> Floats:
        log_ways: Floats = gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(of - some + 1.0)
        return log_ways

    # Up to a constant, C(n, m), which goes when the chances are made to sum to 1.
    logs = log_choose(i - 1, rank - 1) + log_choose(n - i, drawn - rank)
    chances = np.exp(logs - logs.max())
    ordered = np.sort(times)[rank - 1 : n - drawn + rank]
    return float((chances * ordered).sum() / chances.sum())
