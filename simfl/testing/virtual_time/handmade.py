"""Runs of virtual time alone, put together by hand: for closed forms, without scenario or data."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import simpy

from simfl.components.availability.base import OnlineSchedule, availabilities
from simfl.components.selectors.base import selectors
from simfl.components.workloads.base import workloads
from simfl.coordinators.base import Choosing
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.core.rows import ClientRow, RoundRow
from simfl.core.seeds import Seeds
from simfl.sim.battery import Batteries
from simfl.sim.fleet import DeviceGroup, Fleet, OnOffline, Power
from simfl.sim.networks.base import networks
from simfl.sim.policies.base import policies
from simfl.sim.rounds import run_rounds
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Prices, Settings, Stop
from simfl.sim.timeline import Timeline


def make_fleet(
    n: int,
    *,
    seconds: Any = 1.0,
    bps: Any = np.inf,
    latency_s: Any = 0.0,
    availability: Any = "always",
    on_offline: OnOffline = "abort",
    power: Power | None = None,
    batteries: Batteries | None = None,
) -> Fleet:
    """Return `n` devices that hold one sample each.

    Args:
        n: how many.
        seconds: how long training that sample takes, one number or `(n,)`.
        bps: links, both ways.
        latency_s: one-way.
        availability: as in a scenario.
        on_offline: what leaving does to work.
        power: watts by phase.
        batteries: what limits work.
    """
    component = availabilities.parse(availability)
    schedule: OnlineSchedule = component.schedule(n, "devices", Seeds(0), Path())
    group = DeviceGroup("devices", 0, n, schedule, on_offline, power or Power(), batteries)
    return Fleet(
        [group],
        1 / _each(n, seconds),
        _each(n, bps),
        _each(n, bps),
        _each(n, latency_s),
        np.ones(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )


def _each(n: int, value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)).copy()


@dataclass
class Log:
    """What happened in a run."""

    rounds: list[RoundRow] = field(default_factory=list)
    clients: list[ClientRow] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)

    def listen(self, time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        self.events.append((time_s, kind))
        if kind == "round_end":
            self.rounds.append(facts["row"])
        elif kind == "participation":
            self.clients.append(facts["row"])

    def first(self, kind: str) -> float:
        """Return when the first event of a kind happened (NaN: never)."""
        return next((time_s for time_s, happened in self.events if happened == kind), np.nan)


def simulate(
    fleet: Fleet,
    policy: Any = "synchronous",
    *,
    clients: int | None = None,
    rounds: int = 1,
    size: int = 0,
    selector: str = "uniform",
    network: Any = "shared",
    seed: int = 0,
) -> Log:
    """Return what happens in a run without training.

    Args:
        fleet: the devices.
        policy: as in a scenario.
        clients: how many per round (None: all).
        rounds: when to stop.
        size: bytes of the model and of an update.
        selector: who is chosen.
        network: as in a scenario.
        seed: root of all randomness.
    """
    timeline, log, seeds = Timeline(), Log(), Seeds(seed)
    timeline.listen(log.listen)
    links = networks.parse(network).bind(
        timeline, fleet.downlink_bps, fleet.uplink_bps, fleet.latency_s
    )
    settings = Settings(
        clients=clients or len(fleet),
        min_clients=1,
        epochs=1,
        steps=None,
        batch_size=1,
        convex=True,
        stop=Stop(rounds=rounds),
        evaluate_every=1,
        targets=(),
        prices=Prices(size, size),
    )
    coordinator = TimeOnlyCoordinator(Choosing(selectors.parse(selector).fresh(), seeds))
    server = Server(
        timeline, fleet, links, coordinator, workloads.parse("full").fresh(), settings, seeds
    )
    timeline.run(until=timeline.process(run_rounds(server, policies.parse(policy))))
    return log


def transfer_ends(
    capacity_bps: float,
    arrivals: Sequence[tuple[float, float]],
    device_bps: float = np.inf,
    queue: str = "fair",
) -> list[float]:
    """Return when each of some downloads over the server's shared uplink ends, in order given.

    Args:
        capacity_bps: the uplink.
        arrivals: when each starts, and its bits (a multiple of 8).
        device_bps: every device's own downlink.
        queue: how the uplink serves.
    """
    timeline, n = Timeline(), len(arrivals)
    network = {"name": "shared", "server_uplink": f"{capacity_bps:.17g} bit/s", "queue": queue}
    links = networks.parse(network).bind(
        timeline, _each(n, device_bps), _each(n, np.inf), np.zeros(n)
    )
    ends = [0.0] * n

    def start(device: int, _: simpy.Event) -> None:
        transfer = links.transfer(device, "down", int(arrivals[device][1]) // 8)
        transfer.callbacks.append(lambda _: ends.__setitem__(device, timeline.now))

    for device, (start_s, _) in enumerate(arrivals):
        timeline.at(start_s).callbacks.append(partial(start, device))
    timeline.run()
    return ends
