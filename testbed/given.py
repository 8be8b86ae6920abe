"""What a simulation is given of the network beside its rates: queues, sockets, TCP, latencies."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simfl import Scenario
from simfl.core.units import DURATION
from simfl.scenario.parts.fleet import constant
from simfl.sim.networks.shared import Shared
from testbed.limits import Limit
from testbed.namespaces import SEND_BYTES
from testbed.wire import INITIAL_WINDOW, MEMORY, SEGMENT


def with_tcp(scenario: Scenario, variant: str, downlinks_bps: Sequence[float]) -> Scenario:
    """Return the scenario with its queues, what a socket can have under way, and how TCP begins."""
    known: dict[str, Any] = {
        "buffer": SEND_BYTES * SEGMENT / MEMORY,
        "initial_window": INITIAL_WINDOW,
        "queue": "fair" if variant == "fair-queue" else "fifo",
    }
    limits = [Limit(bps).waits for bps in downlinks_bps if bps < math.inf]
    if limits and variant != "deep-queue" and not server_is_limited(scenario):
        known["queue_limit"] = min(limits)
    network = scenario.network.model_copy(update=known)
    return scenario.model_copy(update={"network": network})


def with_latency(scenario: Scenario, latencies: Sequence[float]) -> Scenario:
    """Return the scenario with each device's one-way latency, seconds, as it was measured."""
    fleet, first = [], 0
    for group in scenario.fleet:
        those, first = latencies[first : first + group.count], first + group.count
        latency = constant(f"{np.mean(those)} s", DURATION)
        fleet.append(group.model_copy(update={"latency": latency}))
    return scenario.model_copy(update={"fleet": tuple(fleet)})


def server_bps(scenario: Scenario) -> tuple[float, float]:
    """Return the server's downlink and uplink in bit/s."""
    network = network_of(scenario)
    return network.server_downlink, network.server_uplink


def server_is_limited(scenario: Scenario) -> bool:
    """Whether clients share the server's links, one of them at least."""
    return min(server_bps(scenario)) < math.inf


def network_of(scenario: Scenario) -> Shared:
    """Return the network of a scenario, which is of the only kind that the testbed has."""
    network = scenario.network
    assert isinstance(network, Shared)
    return network
