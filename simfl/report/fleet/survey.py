"""A fleet before anything is trained: how fast, how well connected, how often online, who is late.

The percentiles are those of the very devices that a run of the scenario would have.  The expected
round is exact where the cohort is drawn uniformly from those that hold data, everybody is online
and does the full workload, no update is carried over or withheld, no link is shared or loses
packets, and rates are nominal; of edge servers it is a mean of many draws, of clients kept
at work that of a long run.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.build.builder import Builder
from simfl.build.endings import quorum_of
from simfl.components.availability.week import Week, looked_at, most_at_once, quorum, week_of
from simfl.components.selectors.base import Reports, Selector, View
from simfl.coordinators.base import Choosing
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.core.component import overrides
from simfl.core.ownership import users_own
from simfl.core.types import Floats, Ids
from simfl.core.words import group_names
from simfl.report.fleet.expected_round import expected_buffer_s, expected_longest, expected_round_s
from simfl.report.fleet.facts import Buffered, EdgeRounds, FleetFacts, GroupFacts, Spread
from simfl.report.fleet.parts_of_a_round import included, left_out
from simfl.sim.fleet import DeviceGroup, Fleet
from simfl.sim.policies.base import Process, RoundPolicy
from simfl.sim.policies.fedasync import FedAsync
from simfl.sim.policies.fedbuff import FedBuff
from simfl.sim.policies.hierarchical import Hierarchical
from simfl.sim.policies.synchronous import Synchronous
from simfl.sim.server.server import Server
from simfl.sim.timeline import ROUNDING, Timeline

NUMBERS = ("compute", "downlink", "uplink", "latency", "samples", "round")
ALL = "all"
"""What all devices are called beside the groups."""
PHASES = ("download", "compute", "upload")


def survey(builder: Builder) -> FleetFacts:
    """Draw the fleet of a scenario and look at it.

    Raises:
        InputError: the scenario's data are missing, or its fleet can't be drawn.
    """
    scenario, settings, fleet = builder.scenario, builder.settings, builder.fleet
    selector, policy, timeline = scenario.selection, scenario.rounds.policy, Timeline()
    server = builder.server(timeline, _Asking(Choosing(selector.fresh(), builder.seeds)))
    columns = _columns(fleet, server)
    limit_s = server.deadline_s(policy.yardstick)
    enforced_s = limit_s if policy.enforces else math.inf
    holds = np.array([fleet.can_hold(i, settings.memory_bytes) for i in range(len(fleet))])
    attacks = np.zeros(len(fleet), dtype=np.bool_)
    for clients, _ in scenario.attackers.values():
        attacks[clients.start : clients.stop] = True
    members = {group.name: group.first + np.arange(group.count) for group in fleet.groups}
    weeks = {group.name: _week(group) for group in builder.drawn_fleet().groups}
    facts_of = partial(_facts, columns=columns, limit_s=limit_s, holds=holds, attacks=attacks)
    told = group_names([*members], [ALL] if len(members) > 1 else [])
    groups = [
        facts_of(as_, own, float(weeks[name].share.mean()))
        for as_, (name, own) in zip(told, members.items(), strict=True)
    ]
    if len(groups) > 1:
        weights = [group.count for group in groups]
        online = float(np.average([group.online for group in groups], weights=weights))
        groups.append(facts_of(ALL, np.arange(len(fleet)), online))
    able = np.flatnonzero((fleet.samples > 0) & holds)
    wanted = min(settings.clients, len(able))
    asked = min(policy.asked(settings.clients), len(able))
    edge_rounds = buffered = None
    round_s = expected_round_s(
        columns["round"][able], enforced_s, asked, wanted, policy.server_time
    )
    if type(policy) is Hierarchical:  # of a subclass it is not known
        times = np.minimum(columns["round"], enforced_s)
        edge_rounds, round_s = _edge_rounds(policy, server, times, holds)
    if isinstance(policy, FedBuff | FedAsync) and not users_own([policy]):
        at_work = min(policy.concurrency or settings.clients, len(able))
        buffered = Buffered(at_work, policy.enough)
        round_s = expected_buffer_s(
            columns["round"][able], policy.timeout or math.inf, at_work, policy.enough
        )
    asks = overrides(selector, Selector.probe)
    every_week = [*weeks.values()]
    return FleetFacts(
        groups=groups,
        clients=wanted,
        asked=asked,
        quorum=_quorum(server, policy, every_week, len(able)) if policy.has_quorum else 0,
        most_online=most_at_once(every_week),
        deadline_s=limit_s,
        selector=selector.name,
        asked_s=_asking_s(timeline, server, asked) if asks else 0.0,
        expected_round_s=round_s,
        edge_rounds=edge_rounds,
        buffered=buffered,
        other_policy=""
        if edge_rounds or buffered or isinstance(policy, Synchronous)
        else policy.name,
        included=included(scenario),
        left_out=left_out(scenario, enforced_s, surplus=asked > wanted),
        with_battery=[group.name for group in fleet.groups if group.batteries is not None],
        columns=columns,
        members=members,
        week={name: week.share for name, week in weeks.items()},
    )


def _edge_rounds(
    policy: Hierarchical, server: Server, times: Floats, holds: NDArray[np.bool_]
) -> tuple[EdgeRounds, float]:
    """Return what a round of edge servers is made of, and how long it takes in the mean.

    Args:
        policy: whose rounds they are.
        server: of a run.
        times: `(n,)` what an edge's round takes each device.
        holds: `(n,)` whether training fits into its memory.
    """
    members, size = policy.edges_of(server), server.settings.prices.model_bytes
    wanted = policy.wanted(server.settings.clients, members)
    able = [own for edge in members if len(own := edge[holds[edge]])]
    at_edges_s = expected_longest([times[own] for own in able], wanted, policy.edge_rounds)
    both_ways_s = policy.backhaul_s("down", size) + policy.backhaul_s("up", size)
    facts = EdgeRounds(len(able), policy.edge_rounds, wanted)
    return facts, at_edges_s + both_ways_s + policy.server_time


def _quorum(server: Server, policy: RoundPolicy, weeks: Sequence[Week], able: int) -> int:
    """Return how many are waited for before a round, of so many who are `able`."""
    asked = quorum_of(policy, server.settings.clients, server)
    return quorum(weeks, server.settings.min_clients, min(asked, able))


def _columns(fleet: Fleet, server: Server) -> dict[str, Floats]:
    """Return `(n,)` each number of every device."""
    down_s, compute_s, up_s = server.nominal_phases_s()
    return {
        "compute": fleet.rate,
        "downlink": fleet.downlink_bps,
        "uplink": fleet.uplink_bps,
        "latency": fleet.latency_s,
        "samples": fleet.samples.astype(np.float64),
        "round": server.nominal_round_s(everybody=True),
        "download_s": down_s,
        "compute_s": compute_s,
        "upload_s": up_s,
    }


def _asking_s(timeline: Timeline, server: Server, clients: int) -> float:
    """Return how long the selector's questions before the first round take."""
    took_s = 0.0

    def listen(now_s: float, kind: str, _: Mapping[str, Any]) -> None:
        nonlocal took_s
        took_s += {"probe": -now_s, "probed": now_s}.get(kind, 0.0)

    timeline.listen(listen)

    def ask() -> Process:
        yield from server.until_somebody()
        if not server.finished:  # somebody comes
            yield from server.select(clients)

    server.open_round()
    timeline.run(until=timeline.process(ask()))
    return took_s


class _Asking(TimeOnlyCoordinator):
    """Asks what the selector asks, and then chooses without what nobody has computed."""

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        return [int(client) for client in view.draw(k, self._seeds.stream("selection"))]


def _facts(
    name: str,
    devices: Ids,
    online: float,
    columns: Mapping[str, Floats],
    limit_s: float,
    holds: NDArray[np.bool_],
    attacks: NDArray[np.bool_],
) -> GroupFacts:
    """Return what is known of a group, or of all devices.

    Args:
        name: of the group.
        devices: `(m,)` its ids.
        online: the share of the time that they are.
        columns: `(n,)` numbers of the fleet's devices, by name.
        limit_s: how long a round lasts (inf: there is no limit).
        holds: `(n,)` whether training fits into a device's memory.
        attacks: `(n,)` whether a device does.
    """
    able = devices[columns["samples"][devices] > 0]
    late = columns["round"][able] > limit_s * (1 + ROUNDING)
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
        attackers=int(attacks[devices].sum()),
    )


def _week(group: DeviceGroup) -> Week:
    """Return when a group's devices are there for work: charged enough, too."""
    if group.batteries is None:
        return week_of(group.schedule, group.count)
    return looked_at(group.online, group.count)
