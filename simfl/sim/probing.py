"""Probes: what it costs to ask clients something before choosing."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from simfl.selectors.base import Probe
from simfl.sim.device import Errand
from simfl.sim.fleet import Fleet
from simfl.work import Floats, Plan

if TYPE_CHECKING:
    from simfl.sim.server import Server

SCALAR_BYTES = 4


@dataclass(frozen=True)
class Prices:
    """What things cost.

    Attributes:
        model_bytes: size of the model on the way down.
        update_bytes: size of a (compressed) update on the way up.
        profile_bytes: size of an FC-1 profile.
        forward_units: sample-units of a forward pass over one sample (1/3 by default).
        charge_probes: whether probes cost anything.
        probe_deadline_s: how long the server waits for answers (None: for all).
    """

    model_bytes: int
    update_bytes: int
    profile_bytes: int = 0
    forward_units: float = 1 / 3
    charge_probes: bool = True
    probe_deadline_s: float | None = None


def extras(wants: Sequence[str], prices: Prices, fleet: Fleet) -> tuple[Floats, int]:
    """Return what measurements beside an update cost each participant.

    Args:
        wants: what the selector asks participants for; see `Selector.wants`.
        prices: what things cost.
        fleet: the devices.

    Returns:
        `(n,)` sample-units of each device, and bytes on the way up.
    """
    units, size = np.zeros(len(fleet)), 0
    if not prices.charge_probes:
        return units, size
    held = np.where(fleet.validation > 0, fleet.validation, fleet.samples)
    for want in wants:
        if want == "gradient":
            units, size = units + fleet.samples, size + prices.model_bytes
        else:
            units = units + (prices.forward_units * held if want == "loss" else 0.0)
            size += SCALAR_BYTES
    return units, size


def errand(server: "Server", probe: Probe, client: int) -> Errand:
    """Return what answering `probe` means for `client`'s device."""
    prices = server.settings.prices
    samples = int(server.fleet.samples[client])
    held = int(server.fleet.validation[client]) or samples
    nominal = Plan(full_epochs=server.settings.epochs, steps=server.settings.steps)
    units, answer = {
        "loss": (prices.forward_units * held, SCALAR_BYTES),
        "fc1_profile": (prices.forward_units * samples, prices.profile_bytes),
        "gradient": (float(samples), prices.model_bytes),
        "update": (nominal.units(samples, server.settings.batch_size), prices.update_bytes),
        "trial": (nominal.units(samples, server.settings.batch_size), prices.update_bytes),
    }[probe.report]
    fresh = probe.model == "trial" or not server.holds_model(client)
    return Errand(client, prices.model_bytes if fresh else None, units, answer)


def ask(server: "Server", probe: Probe) -> Generator[simpy.Event, Any, dict[int, float]]:
    """Send `probe` out and wait; return who answered and how long each took, seconds."""
    asked = np.unique(probe.clients)
    if not server.settings.prices.charge_probes:
        server.note_probe(probe, asked.tolist())
        return dict.fromkeys(asked.tolist(), 0.0)
    errands = [errand(server, probe, int(client)) for client in server.reachable(asked)]
    processes = [server.send(one) for one in errands]
    if processes:
        answered: simpy.Event = server.timeline.all_of(processes)
        limit_s = server.settings.prices.probe_deadline_s
        if limit_s is not None:
            answered = answered | server.timeline.deadline(server.timeline.now + limit_s)
        yield answered
        yield server.call_off(processes)
    for one in errands:
        server.books.book_probe(one)
        if one.end == "arrived" and probe.model == "global":
            server.remember_model(one.device)
    server.note_probe(probe, [one.device for one in errands if one.end == "arrived"])
    return {
        one.device: one.ends_s["upload"] - one.started_s for one in errands if one.end == "arrived"
    }
