"""Probes: clients are asked something before anybody is chosen, which takes time and bytes."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from simfl.components.selectors.base import Probe, View
from simfl.sim.device import Devices
from simfl.sim.errand import Errand
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.planning import Planner
from simfl.sim.server.state import RunState


@dataclass(eq=False)
class Probing:
    """Sends devices on errands that are not training.

    Attributes:
        state: of the run.
        candidates: who is there.
        planner: says what answering means.
        devices: do it.
        accounting: books what it costs.
    """

    state: RunState
    candidates: Candidates
    planner: Planner
    devices: Devices
    accounting: Accounting

    def ask(self, probe: Probe, view: View) -> Generator[simpy.Event, Any, dict[int, float]]:
        """Send `probe` out and wait; return who answered and how long each took, seconds.

        Who is offline or at work is not asked.  In the log the selection that asks, of which there
        may be several at a time, is named by the `view`'s round and turn.  Where probes are free
        they are answered at once.

        Raises:
            simpy.Interrupt: the run ended meanwhile; what was spent is booked.
        """
        asked, version, note = np.unique(probe.clients), self.state.version, self.state.note
        facts = {
            "round": view.round, "turn": view.turn, "report": probe.report, "model": probe.model,
        }  # fmt: skip
        note("probe", **facts, samples=probe.samples, asked=asked.tolist())
        reached = self.candidates.reachable(asked).tolist()
        if not self.state.settings.prices.charge_probes:
            note("probed", **facts, answered=reached, bytes=0, energy_j=0.0)
            return dict.fromkeys(reached, 0.0)
        errands = [self.planner.answer(probe, client) for client in reached]
        stopped = yield from self._carry_out(errands)
        moved, energy_j = 0, 0.0
        for errand in errands:
            size, joules = self.accounting.book_probe(errand)
            moved, energy_j = moved + size, energy_j + joules
            has_model = errand.download_bytes is None or errand.download_end_s is not None
            if probe.model == "global" and has_model:
                self.planner.remember_model(errand.device, version)
        took = {
            errand.device: errand.upload_end_s - errand.started_s
            for errand in errands
            if errand.end == "arrived" and errand.upload_end_s is not None
        }
        note("probed", **facts, answered=list(took), bytes=moved, energy_j=energy_j)
        if stopped is not None:
            raise stopped
        return took

    def _carry_out(
        self, errands: Sequence[Errand]
    ) -> Generator[simpy.Event, Any, simpy.Interrupt | None]:
        """Send devices on `errands` and wait for them; return what interrupted it, if anything."""
        processes = []
        for errand in errands:
            self.candidates.occupy(errand.device)
            self.accounting.start(errand)
            processes.append(self.devices.order(errand))
        if not processes:
            return None
        self.devices.start(processes)
        stopped = None
        try:
            yield self.state.timeline.all_of(processes)
        except simpy.Interrupt as interrupt:  # the run is over: what was spent is booked
            stopped = interrupt
        yield self.devices.call_off(processes)
        for errand in errands:
            self.candidates.release(errand.device)
        self.state.stir()
        return stopped
