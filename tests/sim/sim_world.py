"""A small world of fakes for tests of virtual time: no tensors, no files."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simfl.components.availability.always import Always
from simfl.components.selectors.base import Probe, Reports
from simfl.components.workloads.base import workloads
from simfl.coordinators.ledger import Ledger
from simfl.core.epsilon import Privacy
from simfl.core.evaluation import Evaluation
from simfl.core.rows import ClientRow, RoundRow
from simfl.core.seeds import Seeds
from simfl.sim.coordinator import Aggregated, EdgeModel
from simfl.sim.fleet import DeviceGroup, Fleet, Power
from simfl.sim.networks.base import networks
from simfl.sim.policies.base import policies
from simfl.sim.rounds import run_rounds
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Prices, Settings, Stop
from simfl.sim.timeline import Timeline

INF = math.inf


class Sessions:
    """Online during given sessions [start, end) of each device."""

    def __init__(self, sessions: Sequence[Sequence[tuple[float, float]]]) -> None:
        self.sessions = sessions

    def _on(self, device, now):
        return any(start <= now < end for start, end in self.sessions[device])

    def online(self, devices, now_s):
        return np.array([self._on(int(device), now_s) for device in devices], dtype=bool)

    def next_change_s(self, device, now_s):
        edges = [edge for session in self.sessions[device] for edge in session]
        return min((edge for edge in edges if edge > now_s), default=INF)

    def next_online_s(self, now_s):
        if any(self._on(i, now_s) for i in range(len(self.sessions))):
            return now_s
        starts = [start for each in self.sessions for start, _ in each if start > now_s]
        return min(starts, default=INF)


ALWAYS = [(0.0, INF)]
NEVER: list[tuple[float, float]] = []


def per_device(n: int, value: Any) -> np.ndarray:
    return np.broadcast_to(np.asarray(value, dtype=float), (n,)).copy()


def make_fleet(
    n: int,
    rate=1.0,
    downlink=INF,
    uplink=INF,
    latency=0.0,
    samples=10,
    validation=0,
    sessions=None,
    on_offline="abort",
    power=None,
) -> Fleet:
    schedule = Sessions(sessions) if sessions else Always().schedule(n, "g", Seeds(0), Path())
    return Fleet(
        [DeviceGroup("g", 0, n, schedule, on_offline, power or Power())],
        per_device(n, rate),
        per_device(n, downlink),
        per_device(n, uplink),
        per_device(n, latency),
        per_device(n, samples).astype(np.int64),
        per_device(n, validation).astype(np.int64),
    )


def lowest(view, reports, k):
    """Choose the lowest available ids."""
    return view.available[:k].tolist()


@dataclass
class FakeCoordinator:
    """Answers the server from plain functions and remembers everything.

    Attributes:
        choose: (view, reports, k) -> ids.
        probes: asked before every choice, in this order.
        broken: orders `(client, issue)` whose result is not finite.
        accuracy: round -> accuracy; None: nothing is evaluated.
    """

    chooser = "selector 'fake'"
    choose: Callable[[Any, Any, int], Iterable[int]] = lowest
    probes: Sequence[Callable[[Any], Probe]] = ()
    broken: frozenset[tuple[int, int]] = frozenset()
    accuracy: Callable[[int], float] | None = None
    computed: list[tuple[int, int]] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    answers: list[Reports] = field(default_factory=list)
    arrivals: list[list[Any]] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    merged: list[list[EdgeModel]] = field(default_factory=list)

    def __post_init__(self):
        self.ledger = Ledger(self._execute)
        self.issue, self.amend, self.drop = (
            self.ledger.issue,
            self.ledger.amend,
            self.ledger.drop,
        )

    def _execute(self, orders):
        self.computed += [order.key for order in orders]
        return [None] * len(orders)

    def next_probe(self, view, reports):
        return self.probes[len(reports)](view) if len(reports) < len(self.probes) else None

    def answer(self, probe, took_s, view):
        ids, durations_s = np.array(list(took_s), dtype=np.int64), np.array(list(took_s.values()))
        found = Reports(probe, ids, np.zeros(len(ids)), durations_s)
        self.answers.append(found)
        return found

    def select(self, view, reports, k):
        self.asked.append(k)
        return [int(client) for client in self.choose(view, reports, k)]

    def aggregate(self, updates):
        arrivals = updates.arrivals
        self.arrivals.append(list(arrivals))
        self.ledger.collect(arrival.order for arrival in arrivals)
        bad = [a.order.key for a in arrivals if a.order.key in self.broken]
        losses = {a.order.client: 1.0 for a in arrivals if a.order.key not in self.broken}
        return Aggregated(losses=losses, discarded=bad)

    def aggregate_at_edge(self, updates, base, made):
        return self.aggregate(updates)

    def merge(self, round_, edges, clients):
        self.merged.append(list(edges))
        return Aggregated()

    def keeps(self, order):
        return True

    def evaluate(self, round_):
        self.evaluations.append(round_)
        return None if self.accuracy is None else Evaluation(self.accuracy(round_), 0.5)


@dataclass
class World:
    """One simulated run and everything it noted."""

    server: Server
    coordinator: FakeCoordinator
    events: list[tuple[float, str, dict[str, Any]]]
    waits: list[str] = field(default_factory=list)

    @property
    def clients(self) -> list[ClientRow]:
        return [facts["row"] for _, kind, facts in self.events if kind == "participation"]

    @property
    def rounds(self) -> list[RoundRow]:
        return [facts["row"] for _, kind, facts in self.events if kind == "round_end"]

    @property
    def selections(self) -> list[tuple[float, list[int]]]:
        return [(t, facts["clients"]) for t, kind, facts in self.events if kind == "selected"]

    def times(self, kind: str) -> list[float]:
        return [t for t, each, _ in self.events if each == kind]

    @property
    def outcomes(self) -> Counter:
        return Counter(row.outcome for row in self.clients)


def make(
    fleet: Fleet,
    policy: Any = "synchronous",
    clients: int | None = None,
    stop: Stop | None = None,
    workload: Any = "full",
    epochs: int = 1,
    steps: int | None = None,
    batch_size: int = 5,
    model_bytes: int = 1000,
    update_bytes: int | None = None,
    network: Any = "shared",
    coordinator: FakeCoordinator | None = None,
    evaluate_every: int = 1,
    targets: Sequence[float] = (),
    seed: int = 0,
    wants: Sequence[str] = (),
    min_clients: int | None = None,
    privacy: Privacy | None = None,
    peek: Sequence[float] = (),
    **prices: Any,
) -> World:
    """Simulate a run to its end; at the instants of `peek` note what it waits for."""
    timeline = Timeline()
    coordinator = coordinator or FakeCoordinator()
    events: list[tuple[float, str, dict[str, Any]]] = []
    timeline.listen(lambda t, kind, facts: events.append((t, kind, facts)))
    links = networks.parse(network).bind(
        timeline, fleet.downlink_bps, fleet.uplink_bps, fleet.latency_s
    )
    settings = Settings(
        clients=clients or len(fleet),
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        convex=True,
        stop=stop or Stop(rounds=1),
        evaluate_every=evaluate_every,
        targets=targets,
        prices=Prices(model_bytes, model_bytes if update_bytes is None else update_bytes, **prices),
        wants=wants,
        min_clients=min_clients,
        privacy=privacy,
    )
    server = Server(
        timeline, fleet, links, coordinator, workloads.parse(workload), settings, Seeds(seed)
    )
    world = World(server, coordinator, events)
    for at_s in peek:
        timeline.at(at_s).callbacks.append(lambda _: world.waits.append(server.waiting_for))
    timeline.run(until=timeline.process(run_rounds(server, policies.parse(policy))))
    check(world)
    return world


def check(world: World) -> None:
    """Assert what holds at the end of every run."""
    ledger, server = world.coordinator.ledger, world.server
    ledger.check()
    assert not server.under_way
    # What was dropped or left open was never computed; what was computed counted.
    counted = world.outcomes["arrived"] + world.outcomes["discarded"]
    assert ledger.computed == len(world.coordinator.computed) == counted
    assert len(ledger.open) == world.outcomes["unfinished"]
    assert ledger.dropped == world.outcomes["late"] + world.outcomes["offline"]
    # Bytes and joules: rows, probes and a backhaul make up the totals, to the byte.
    probes = [facts for _, kind, facts in world.events if kind == "probed"]
    moved = sum(row.download_bytes + row.upload_bytes for row in world.clients)
    moved += sum(f["bytes"] for _, kind, f in world.events if kind in ("probed", "backhaul"))
    assert moved == server.accounting.total_bytes
    tallies = [*world.rounds, server.accounting.row]
    assert sum(t.download_bytes + t.upload_bytes + t.probe_bytes for t in tallies) == (
        server.accounting.total_bytes
    )
    assert sum(row.selected for row in tallies) == len(world.clients)
    assert server.accounting.meter.bytes == server.accounting.meter.energy_j == 0
    joules = sum(row.energy_j for row in world.clients) + sum(f["energy_j"] for f in probes)
    assert math.isclose(joules, server.accounting.total_energy_j, abs_tol=1e-9)
    # The clock never runs backwards, and no device does two things at once.
    times = [t for t, _, _ in world.events]
    assert times == sorted(times)
    busy: set[int] = set()
    for _, kind, facts in world.events:
        if kind == "dispatched":
            assert facts["client"] not in busy
            busy.add(facts["client"])
        elif kind == "uploaded" or (kind == "participation" and facts["row"].outcome != "arrived"):
            busy.discard(facts["client"] if kind == "uploaded" else facts["row"].client)
