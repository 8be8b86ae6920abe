"""Work that is sent out: planned, dispatched, called off, and booked once it is over."""

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simpy

from simfl.components.filters.base import STATUS_BYTES
from simfl.core.rows import Outcome
from simfl.core.types import OrderKey
from simfl.sim.coordinator import Coordinator
from simfl.sim.device import Devices
from simfl.sim.errand_process import ErrandProcess
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.background import interrupt
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.participation import Participation
from simfl.sim.server.planning import Planner
from simfl.sim.server.silence import Silence
from simfl.sim.server.standstill import Standstill
from simfl.sim.server.state import RunState
from simfl.sim.timeline import ROUNDING

Inbox = list[Participation]
"""Participations that are over, in the order in which they ended."""


@dataclass(eq=False)
class Dispatch:
    """The server's dealings with the devices that train for it.

    Attributes:
        state: of the run.
        coordinator: keeps the orders.
        candidates: who is there.
        planner: says what a client is to do.
        devices: do it.
        accounting: books it.
        silence: ends a run in which nothing comes of work any more.
        standstill: ends one whose clock hardly moves, or that hardly spends energy.
        under_way: who is at work, by client.
    """

    state: RunState
    coordinator: Coordinator
    candidates: Candidates
    planner: Planner
    devices: Devices
    accounting: Accounting
    silence: Silence
    standstill: Standstill
    under_way: dict[int, Participation] = field(default_factory=dict, init=False)
    _unsettled: dict[OrderKey, Participation] = field(default_factory=dict, init=False)
    _abandoning: bool = field(default=False, init=False)

    def send_all(
        self,
        chosen: Mapping[int, int],
        limit_s: float = math.inf,
        inbox: Inbox | None = None,
        tier: int = 0,
        base: int | None = None,
    ) -> list[Participation]:
        """Send work to everybody who was `chosen`, drawn so often; return those not skipped.

        Args:
            chosen: who, online and idle; how often.
            limit_s: what their work is planned for, seconds from now.  Nobody is called off.
            inbox: where their parts are put when they are over.
            tier: which asks them.
            base: version of the model that they start from (None: the global one).
        """
        sent = []
        ended = partial(self._ended, inbox)
        for client, copies in chosen.items():
            part, useful = self.planner.participation(client, limit_s, copies, tier, base)
            if useful:
                self._order(part)
                sent.append(part)
            elif self.planner.refuses(client):
                self._refused(part)
            else:
                self.accounting.book(part, "skipped")
                if not self.under_way:  # else it is heard of those
                    self.silence.over(heard=False)
        processes = [part.process for part in sent if part.process is not None]
        for process in processes:
            process.callbacks.append(ended)
        self.devices.start(processes)
        return sent

    def call_off(self, parts: Iterable[Participation]) -> simpy.Event:
        """Interrupt those still at work; return an event for when all of them have stopped."""
        processes = [part.process for part in parts if part.process is not None]
        return self.devices.call_off(processes)

    def reject_surplus(self, parts: Iterable[Participation], enough: int) -> None:
        """Call late who arrived at the same instant as the last of `enough` but has a higher id.

        An instant is the same, too, where only rounding makes it another.
        """
        arrived = [part for part in parts if part.arrived]
        if len(arrived) <= enough:
            return
        ties_s = sorted(part.arrived_s for part in arrived)[enough - 1] * (1 - ROUNDING)
        arrived.sort(key=lambda part: (part.arrived_s >= ties_s, part.client))
        self._call_late(arrived[enough:])

    def abandon_below(self, parts: Iterable[Participation], least: int) -> None:
        """Call all late who arrived in a round, if they are fewer than `least`."""
        arrived = [part for part in parts if part.arrived]
        if len(arrived) < least and least > 1:
            self.silence.heard_in_vain()
            self.state.note("abandoned", round=self.state.round, arrived=len(arrived), needed=least)
            self._call_late(arrived)

    def _call_late(self, arrived: Iterable[Participation]) -> None:
        for part in arrived:
            self.discard(part, "late")
            part.errand.end = "late"

    def any_arrived(self) -> bool:
        """Return whether an update is there that is neither aggregated nor dropped."""
        return any(part.arrived for part in self._unsettled.values())

    def too_stale(self, part: Participation, most: int | None) -> bool:
        """Return whether more than `most` versions (None: any number) were made since its base."""
        return most is not None and self.state.version - part.version > most

    def discard(self, part: Participation, outcome: Outcome) -> None:
        """Book a participation that does not count; its work is never computed."""
        self.coordinator.drop(part.order)
        self.book(part, outcome, self.state.version - part.version if part.arrived else 0)

    def book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        """Book a participation that is over, and whose order is settled."""
        del self._unsettled[part.order.key]
        self.accounting.book(part, outcome, staleness)

    def abandon(
        self, background: Sequence[simpy.Process], drop: bool = False
    ) -> Generator[simpy.Event, Any, None]:
        """Stop everything under way, the server's own `background` first, and book it.

        Args:
            background: the server's processes.
            drop: the run goes on, so what was ordered will never be computed.
        """
        self._abandoning = True
        yield interrupt(self.state.timeline, background)
        yield self.call_off(self._unsettled[key] for key in sorted(self._unsettled))
        for key in sorted(self._unsettled):
            if drop:
                self.coordinator.drop(self._unsettled[key].order)
            self.book(self._unsettled[key], "unfinished")
        self._abandoning = False

    def _refused(self, part: Participation) -> None:
        """Book a refusal for want of memory; the server does not ask this device again."""
        self.candidates.dismiss(part.client)
        self.state.note(
            "refused",
            round=self.state.round,
            client=part.client,
            reason="memory",
            needs_bytes=self.state.settings.memory_bytes,
        )
        self.accounting.book(part, "skipped")

    def _order(self, part: Participation) -> None:
        """Give a client what its device is to start with."""
        client, plan = part.client, part.order.plan
        self.planner.issued(part.order)
        self.coordinator.issue(part.order)
        self.under_way[client] = self._unsettled[part.order.key] = part
        self.candidates.occupy(client)
        self.accounting.start(part.errand)
        self.state.note(
            "dispatched",
            round=self.state.round,
            client=client,
            units=part.errand.units,
            full_epochs=plan.full_epochs,
            coreset_size=plan.coreset_size,
            coreset_epochs=plan.coreset_epochs,
        )
        if self.state.settings.filters_updates:
            part.errand.before_upload = lambda: self._filter(part)
        salvages = part.errand.group.on_offline == "salvage"
        salvage = partial(self._salvage, part) if salvages else None
        part.process = self.devices.order(part.errand, salvage)

    def _filter(self, part: Participation) -> None:
        """Let a client that has trained decide whether to upload its update or only a status."""
        part.kept_back = not self.coordinator.keeps(part.order)
        if part.kept_back:
            part.errand.upload_bytes = STATUS_BYTES
        self.state.note("filtered", client=part.client, kept=not part.kept_back)

    def _ended(self, inbox: Inbox | None, process: simpy.Event) -> None:
        """Take note that a device has stopped; what did not arrive is dropped at once."""
        assert isinstance(process, ErrandProcess)
        part = self.under_way.pop(process.errand.device)
        part.process = None
        self.candidates.release(part.client)
        if not self._abandoning:
            self.silence.over(heard=part.arrived)
            self.standstill.over()
        if not part.arrived and not self._abandoning:
            reported = part.kept_back and part.errand.end == "arrived"
            self.discard(part, "filtered" if reported else part.errand.end or "unfinished")
        elif inbox is not None:
            inbox.append(part)
        self.state.stir()

    def _salvage(self, part: Participation, units: float) -> float:
        """Shorten an order to the SGD steps finished after `units`; return their units."""
        shorter, done = self.planner.finished(part.order, units)
        if shorter is None:
            return 0.0
        part.order = self.coordinator.amend(shorter)
        part.steps = shorter.plan.stop_after or 0
        self.state.note("salvaged", client=part.client, steps=part.steps)
        return done
