"""What is known of a fleet before it is used, as plain facts."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.runs.folder.eventlog import finite


@dataclass(frozen=True)
class Spread:
    """Percentiles of one number over devices (infinite: unlimited)."""

    p5: float
    p50: float
    p95: float

    @classmethod
    def of(cls, values: Floats | Ids) -> "Spread":
        """Return the percentiles of `(n,)` values, each of them one of these; NaN of none."""
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
        online: share of time online, over a week; with a battery: and charged enough for work, if
            there is none.
        in_time: share that can finish the full workload by the deadline (NaN: there is none).
        without_data: devices that hold no samples and never take part.
        without_memory: devices that can't hold the training in memory.
        attackers: devices that attack.
    """

    name: str
    count: int
    numbers: Mapping[str, Spread]
    phases: Mapping[str, float]
    online: float
    in_time: float
    without_data: int
    without_memory: int
    attackers: int


@dataclass(frozen=True)
class EdgeRounds:
    """What a round of edge servers is made of.

    Attributes:
        edges: that have clients.
        rounds: of each, one after the other.
        clients: that each selects for one, if it has so many.
    """

    edges: int
    rounds: int
    clients: int


@dataclass(frozen=True)
class Buffered:
    """What a round is made of that goes on without the others.

    Attributes:
        clients: kept at work.
        updates: that are aggregated.
    """

    clients: int
    updates: int


@dataclass(frozen=True, eq=False)
class FleetFacts:
    """What is known of a fleet before it is used.

    Attributes:
        groups: in the order of the scenario; where there are several, all devices come last.
        clients: wanted per round.
        asked: selected per round.
        quorum: available at once before a round begins (0: it begins with whoever is there).
        most_online: devices at once in a week, of groups with batteries and very short sessions as
            far as looks once in each half hour tell.
        deadline_s: of a round (infinite: none).
        selector: who chooses the clients.
        asked_s: how long what the selector asks before it first chooses takes (0: it asks nothing).
        expected_round_s: mean duration of a synchronous round, or of one as told below, what
            participants measure for the selector and the server's time included, what it asks
            before choosing left out.
        edge_rounds: what a round of edge servers is made of (None: there are none).
        buffered: what one of clients kept at work is made of (None: it is none of these).
        other_policy: whose rounds are others than that ("": they are such rounds).
        included: what of that is neither training nor sending models, in words.
        left_out: keys of the scenario that make rounds longer or shorter than that.
        with_battery: groups whose devices have one.
        columns: `(n,)` each number of every device.
        members: the devices of each group, by its name.
        week: per group `(half hours,)` share online over a week.
    """

    groups: list[GroupFacts]
    clients: int
    asked: int
    quorum: int
    most_online: float
    deadline_s: float
    selector: str
    asked_s: float
    expected_round_s: float
    edge_rounds: EdgeRounds | None
    buffered: Buffered | None
    other_policy: str
    included: list[str]
    left_out: list[str]
    with_battery: list[str]
    columns: Mapping[str, Floats]
    members: Mapping[str, Ids]
    week: Mapping[str, Floats]

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data; what is infinite or unknown is None."""
        facts = {
            "devices": self.groups[-1].count,
            "clients": self.clients,
            "asked": self.asked,
            "quorum": self.quorum,
            "most_online": self.most_online,
            "deadline_s": self.deadline_s,
            "selector": self.selector,
            "asked_s": self.asked_s,
            "expected_round_s": self.expected_round_s,
            "edge_rounds": None if self.edge_rounds is None else asdict(self.edge_rounds),
            "buffered": None if self.buffered is None else asdict(self.buffered),
            "other_policy": self.other_policy,
            "left_out": self.left_out,
            "with_battery": self.with_battery,
            "groups": [asdict(group) for group in self.groups],
        }
        return {name: finite(value) for name, value in facts.items()}
