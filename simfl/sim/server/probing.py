"""Probes: what it costs to ask clients something before choosing."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from simfl.components.selectors.base import Probe
from simfl.core.types import Floats
from simfl.sim.device import Errand
from simfl.sim.fleet import Fleet

if TYPE_CHECKING:
    from simfl.sim.server.server import Server

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
        correction_bytes: size of what corrects a participant's gradients, on the way down.
        report_bytes: size of what it reports of its gradients, on the way up.
        probe_deadline_s: how long the server waits for answers (None: for all).
    """

    model_bytes: int
    update_bytes: int
    profile_bytes: int = 0
    forward_units: float = 1 / 3
    charge_probes: bool = True
    probe_deadline_s: float | None = None
    correction_bytes: int = 0
    report_bytes: int = 0

    @property
    def down_bytes(self) -> int:
        """What a participant without the model downloads."""
        return self.model_bytes + self.correction_bytes

    @property
    def up_bytes(self) -> int:
        """What a participant uploads, measurements for the selector aside."""
        return self.update_bytes + self.report_bytes


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
    if probe.samples is not None:
        held = min(held, probe.samples)
        samples = min(samples, probe.samples)
    nominal = server.settings.nominal.units(
        int(server.fleet.samples[client]), server.settings.batch_size
    )
    units, answer = {
        "loss": (prices.forward_units * held, SCALAR_BYTES),
        "fc1_profile": (prices.forward_units * samples, prices.profile_bytes),
        "gradient": (float(samples), prices.model_bytes),
        "update": (nominal, prices.update_bytes),
        "trial": (nominal, prices.update_bytes),
    }[probe.report]
    fresh = probe.model == "trial" or not server.holds_model(client)
    return Errand(client, prices.model_bytes if fresh else None, units, answer)


def ask(server: "Server", probe: Probe) -> Generator[simpy.Event, Any, dict[int, float]]:
    """Send `probe` out and wait; return who answered and how long each took, seconds.

    Who is offline or at work is not asked.  Where probes are free they are answered at once.
    """
    asked, version = np.unique(probe.clients), server.version
    facts = {"round": server.round, "report": probe.report, "model": probe.model}
    server.timeline.note("probe", **facts, samples=probe.samples, asked=asked.tolist())
    reached = server.candidates.reachable(asked).tolist()
    if not server.settings.prices.charge_probes:
        server.timeline.note("probed", **facts, answered=reached, bytes=0, energy_j=0.0)
        return dict.fromkeys(reached, 0.0)
    errands = [errand(server, probe, client) for client in reached]
    stopped = yield from _carry_out(server, errands)
    moved, energy_j = 0, 0.0
    for one in errands:
        size, joules = server.accounting.book_probe(one)
        moved, energy_j = moved + size, energy_j + joules
        if probe.model == "global" and (one.download_bytes is None or "download" in one.ends_s):
            server.remember_model(one.device, version)
    took = {
        one.device: one.ends_s["upload"] - one.started_s for one in errands if one.end == "arrived"
    }
    server.timeline.note("probed", **facts, answered=list(took), bytes=moved, energy_j=energy_j)
    if stopped is not None:
        raise stopped
    return took


def _carry_out(
    server: "Server", errands: Sequence[Errand]
) -> Generator[simpy.Event, Any, simpy.Interrupt | None]:
    """Send devices on `errands` and wait for them; return what interrupted it, if anything."""
    processes = [server.send(one) for one in errands]
    if not processes:
        return None
    stopped = None
    answered: simpy.Event = server.timeline.all_of(processes)
    limit_s = server.settings.prices.probe_deadline_s
    if limit_s is not None:
        answered = answered | server.timeline.deadline(server.timeline.now + limit_s)
    try:
        yield answered
    except simpy.Interrupt as interrupt:  # the run is over: what was spent is booked all the same
        stopped = interrupt
    yield server.call_off(processes)
    for one in errands:
        server.candidates.release(one.device)
    return stopped
