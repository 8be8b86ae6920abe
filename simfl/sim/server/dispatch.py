"""Work that is sent out: planned, dispatched, called off, and booked once it is over."""

import math
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import simpy

from simfl.components.filters.base import STATUS_BYTES
from simfl.core.rows import Outcome
from simfl.sim.coordinator import Coordinator
from simfl.sim.device import DeviceProcess
from simfl.sim.server.participation import Participation
from simfl.sim.server.planning import Moment, Planner

if TYPE_CHECKING:
    from simfl.sim.server.server import Server

Inbox = list[Participation]
"""Participations that are over, in the order in which they ended."""


class Dispatch:
    """The server's dealings with the devices that train for it.

    Args:
        server: whose.
        coordinator: keeps the orders.
        planner: says what a client is to do.
        devices: do it.

    Attributes:
        under_way: who is at work, by client.
    """

    def __init__(
        self, server: "Server", coordinator: Coordinator, planner: Planner, devices: DeviceProcess
    ) -> None:
        self.under_way: dict[int, Participation] = {}
        self._server = server
        self._coordinator = coordinator
        self._planner = planner
        self._devices = devices
        self._unsettled: dict[tuple[int, int], Participation] = {}
        self._issues: dict[int, int] = {}
        self._abandoning = False

    def send_all(
        self,
        chosen: Mapping[int, int],
        limit_s: float = math.inf,
        inbox: Inbox | None = None,
        tier: int = 0,
    ) -> list[Participation]:
        """Send work to everybody who was `chosen`, drawn so often; return those not skipped.

        Args:
            chosen: who, online and idle; how often.
            limit_s: what their work is planned for, seconds from now.  Nobody is called off.
            inbox: where their parts are put when they are over.
            tier: which asks them.
        """
        sent = []
        for client, copies in chosen.items():
            part = self._plan(client, limit_s, copies, tier)
            if part is not None:
                self._start(part, inbox)
                sent.append(part)
        return sent

    def call_off(self, work: Iterable[simpy.Process | Participation]) -> simpy.Event:
        """Interrupt those still running; return an event for when all of them have stopped."""
        processes = [
            one
            for each in work
            if (one := each.process if isinstance(each, Participation) else each) is not None
        ]
        for process in processes:
            if process.is_alive:
                process.interrupt()
        return self._server.timeline.all_of(processes)

    def reject_surplus(self, parts: Iterable[Participation], enough: int) -> None:
        """Call late who arrived at the same instant as the last of `enough` but has a higher id."""
        arrived = [part for part in parts if part.arrived]
        for part in sorted(arrived, key=lambda one: (one.errand.ended_s, one.client))[enough:]:
            part.errand.end = "late"
            self.discard(part, "late")

    def discard(self, part: Participation, outcome: Outcome) -> None:
        """Book a participation that does not count; its work is never computed."""
        self._coordinator.drop(part.order)
        self.book(part, outcome)

    def book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        """Book a participation that is over, and whose order is settled."""
        del self._unsettled[part.order.key]
        self._server.accounting.book(part, outcome, staleness)

    def abandon(self, background: Iterable[simpy.Process]) -> Generator[simpy.Event, Any, None]:
        """Stop everything under way, the server's own `background` first, and book it."""
        self._abandoning = True
        yield self.call_off(background)
        yield self.call_off(self._unsettled[key] for key in sorted(self._unsettled))
        for key in sorted(self._unsettled):
            self.book(self._unsettled[key], "unfinished")

    def _plan(self, client: int, limit_s: float, copies: int, tier: int) -> Participation | None:
        """Return what `client` is to do, None if nothing useful fits and it is skipped."""
        server = self._server
        moment = Moment(server.round, server.version, server.timeline.now)
        part, useful = self._planner.participation(
            client, self._issues.get(client, 0), moment, limit_s, server.holds_model(client)
        )
        part.copies, part.tier = copies, tier
        if not server.fleet.can_hold(client, server.settings.memory_bytes):
            self._refused(part)
            return None
        if not useful:
            server.accounting.book(part, "skipped")
            return None
        return part

    def _refused(self, part: Participation) -> None:
        """Book a refusal for want of memory; the server does not ask this device again."""
        server = self._server
        server.candidates.dismiss(part.client)
        server.timeline.note(
            "refused",
            round=server.round,
            client=part.client,
            reason="memory",
            needs_bytes=server.settings.memory_bytes,
        )
        server.accounting.book(part, "skipped")
        if not len(server.candidates.able):
            server.finish("every device has refused")

    def _start(self, part: Participation, inbox: Inbox | None) -> None:
        """Send a client to work."""
        client, plan, server = part.client, part.order.plan, self._server
        self._issues[client] = part.order.issue + 1
        self._coordinator.issue(part.order)
        self.under_way[client] = self._unsettled[part.order.key] = part
        server.candidates.occupy(client)
        server.timeline.note(
            "dispatched",
            round=server.round,
            client=client,
            units=part.errand.units,
            full_epochs=plan.full_epochs,
            coreset_size=plan.coreset_size,
            coreset_epochs=plan.coreset_epochs,
        )
        if server.settings.filters_updates:
            part.errand.before_upload = lambda: self._filter(part)
        part.process = self._devices.start(part.errand, lambda units: self._salvage(part, units))
        part.process.callbacks.append(partial(self._ended, part, inbox))

    def _filter(self, part: Participation) -> None:
        """Let a client that has trained decide whether to upload its update or only a status."""
        part.kept_back = not self._coordinator.keeps(part.order)
        if part.kept_back:
            part.errand.upload_bytes = STATUS_BYTES
        self._server.timeline.note("filtered", client=part.client, kept=not part.kept_back)

    def _ended(self, part: Participation, inbox: Inbox | None, process: simpy.Event) -> None:
        """Take note that a device has stopped; what did not arrive is dropped at once."""
        if not process.ok:  # it failed, or was interrupted from outside: the run is over
            return
        del self.under_way[part.client]
        self._server.candidates.release(part.client)
        if not part.arrived and not self._abandoning:
            reported = part.kept_back and part.errand.end == "arrived"
            self.discard(part, "filtered" if reported else part.errand.end or "unfinished")
        elif inbox is not None:
            inbox.append(part)
        self._server.stir()

    def _salvage(self, part: Participation, units: float) -> float:
        """Shorten an order to the SGD steps finished after `units`; return their units."""
        shorter, done = self._planner.finished(part.order, units)
        if shorter is None:
            return 0.0
        part.order = self._coordinator.amend(shorter)
        part.steps = shorter.plan.stop_after or 0
        self._server.timeline.note("salvaged", client=part.client, steps=part.steps)
        return done
