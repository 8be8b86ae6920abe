"""The server: what round policies share, so that a policy file says only whom it waits for."""

import math
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from simfl.errors import InputError
from simfl.filters.base import STATUS_BYTES
from simfl.rows import Outcome
from simfl.seeds import Seeds
from simfl.selectors.base import History
from simfl.sim.coordinator import Aggregated, Arrival, Coordinator
from simfl.sim.device import DeviceProcess, Errand
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.participation import Books, Participation
from simfl.sim.planning import Moment, Planner
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.presence import Presence
from simfl.sim.selection import Selection
from simfl.sim.settings import Settings, Stop
from simfl.sim.timeline import LAST, Timeline
from simfl.sim.verdict import Verdict
from simfl.work import Floats, Ids
from simfl.workloads.base import Workload

__all__ = ["Server", "Settings", "Stop", "main"]

Waiting = Generator[simpy.Event, Any, None]
Inbox = list[Participation]
"""Participations that are over, in the order in which they ended."""


class Server:
    """Selects, dispatches, waits, aggregates; keeps what a server can know.

    Attributes:
        round: number of the aggregation being worked for, 1-based.
        version: aggregations that changed the model, so far.
        under_way: who is at work, by client.
        selection: how clients are chosen.
        server_time_s: how long an aggregation takes.
        why_finished: which stopping rule was met, if any.
    """

    def __init__(
        self,
        timeline: Timeline,
        fleet: Fleet,
        links: Links,
        coordinator: Coordinator,
        workload: Workload,
        settings: Settings,
        seeds: Seeds,
    ) -> None:
        self.timeline = timeline
        self.fleet = fleet
        self.settings = settings
        self.seeds = seeds
        self.presence = Presence(timeline, fleet)
        self.books = Books(timeline, fleet)
        self.history = History.empty(fleet.samples)
        self.round = 0
        self.version = 0
        self.why_finished: str | None = None
        self.truth: dict[str, NDArray[Any]] | None = None
        """What no server can know, only there for selectors marked as oracles."""
        self.under_way: dict[int, Participation] = {}
        self.server_time_s = 0.0
        self.selection = Selection(self, coordinator)
        self._verdict = Verdict(self, coordinator)
        self._coordinator = coordinator
        self._planner = Planner(fleet, links, workload, settings, seeds)
        self._devices = DeviceProcess(timeline, fleet, links)
        self._unsettled: dict[tuple[int, int], Participation] = {}
        self._helpers: list[simpy.Process] = []
        self._abandoning = False
        self._change = simpy.Event(timeline)
        self._failed = simpy.Event(timeline)
        self._free_s = 0.0
        self._issues: dict[int, int] = {}
        self._holds: dict[int, int] = {}
        if not len(self.presence.able):
            raise InputError("no device of the fleet holds any training sample")

    # Waiting ----------------------------------------------------------------------------------

    @property
    def change(self) -> simpy.Event:
        """What fires when next somebody stops working or comes back, or the run is finished."""
        return self._change

    def stir(self, _: simpy.Event | None = None) -> None:
        """Let everybody who waits for a change look again."""
        change, self._change = self._change, simpy.Event(self.timeline)
        change.succeed()

    def anyone(self, among: Ids | None = None) -> bool:
        """Return whether somebody (of `among`) can take part now."""
        return self.presence.anyone(among, lambda: self.seeds.stream("presence", self.round))

    def chance(self, among: Ids | None = None) -> simpy.Event:
        """Return what to wait for until somebody (of `among`) can take part.

        The run is finished if nobody ever will.
        """
        back_s = self.presence.next_return_s(among)
        if back_s < math.inf:
            back = self.timeline.at(back_s)
            return back | self._change if self.under_way or among is not None else back
        change = self._change
        if not (self.under_way or self.selection.asking) and (
            among is None or not (self.anyone() or self.presence.next_return_s() < math.inf)
        ):
            self.finish("nobody will be available again")
        return change

    def wait_for_devices(self, among: Ids | None = None) -> Waiting:
        """Wait until somebody can take part; finish the run if nobody ever will."""
        while not self.finished and not self.anyone(among):
            yield self.chance(among)

    def closing(
        self, parts: Sequence[Participation], limit_s: float, enough: int | None = None
    ) -> simpy.Event:
        """Return an event for when a round may close.

        That is when `enough` of `parts` have arrived or all have stopped, whatever else happens at
        that very instant included, or `limit_s` from now.  Where nobody was sent, the server
        learns of it only when the time is up.
        """
        event = simpy.Event(self.timeline)
        arrived, working = 0, len(parts)

        def close(_: simpy.Event) -> None:
            if not event.triggered:
                event.succeed()

        def count(part: Participation, _: simpy.Event) -> None:
            nonlocal arrived, working
            arrived, working = arrived + part.arrived, working - 1
            if not working or arrived == enough:
                self.timeline.deadline(self.timeline.now).callbacks.append(close)

        for part in parts:
            assert part.process is not None
            part.process.callbacks.append(partial(count, part))
        if limit_s < math.inf:
            self.timeline.deadline(self.timeline.now + limit_s).callbacks.append(close)
        elif not parts:
            event.succeed()
        return event

    def spawn(self, process: Waiting) -> simpy.Process:
        """Start a process of the server's own, which ends with the run."""

        def guarded() -> Waiting:
            try:
                yield from process
            except (simpy.Interrupt, GeneratorExit):
                return
            except BaseException as error:
                self.timeline.mute()
                if not self._failed.triggered:
                    self._failed.fail(error)  # type: ignore[arg-type]  # interruptions too

        self._helpers = [helper for helper in self._helpers if helper.is_alive]
        started = self.timeline.process(guarded())
        self._helpers.append(started)
        return started

    @property
    def failed(self) -> simpy.Event:
        """What fails when a process of the server's own does, with what it raised."""
        return self._failed

    # Rounds -----------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether a stopping rule has been met."""
        return self.why_finished is not None

    def finish(self, why: str) -> None:
        """End the run, for the first reason given."""
        if self.why_finished is None:
            self.why_finished = why
            self.stir()

    def open_round(self) -> None:
        """Begin to work for the next aggregation."""
        self.round += 1
        self.selection.restart()
        self.books.open(self.round)
        self.timeline.note("round", round=self.round, version=self.version)

    def select(self, k: int, among: Ids | None = None) -> Generator[simpy.Event, Any, Counter[int]]:
        """See `Selection.select`."""
        return self.selection.select(k, among)

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
                self._dispatch(part, inbox)
                sent.append(part)
        return sent

    def _plan(self, client: int, limit_s: float, copies: int, tier: int) -> Participation | None:
        """Return what `client` is to do, None if nothing useful fits and it is skipped."""
        moment = Moment(self.round, self.version, self.timeline.now)
        part, useful = self._planner.participation(
            client, self._issues.get(client, 0), moment, limit_s, self.holds_model(client)
        )
        part.copies, part.tier = copies, tier
        if not self.fleet.can_hold(client, self.settings.memory_bytes):
            self._refused(part)
            return None
        if not useful:
            self.books.book(part, "skipped")
            return None
        return part

    def _refused(self, part: Participation) -> None:
        """Book a refusal for want of memory; the server does not ask this device again."""
        self.presence.dismiss(part.client)
        self.timeline.note(
            "refused",
            round=self.round,
            client=part.client,
            reason="memory",
            needs_bytes=self.settings.memory_bytes,
        )
        self.books.book(part, "skipped")
        if not len(self.presence.able):
            self.finish("every device has refused")

    def _dispatch(self, part: Participation, inbox: Inbox | None) -> None:
        client, plan = part.client, part.order.plan
        self._issues[client] = part.order.issue + 1
        self._coordinator.issue(part.order)
        self.under_way[client] = self._unsettled[part.order.key] = part
        self.presence.occupy(client)
        self.timeline.note(
            "dispatched",
            round=self.round,
            client=client,
            units=part.errand.units,
            full_epochs=plan.full_epochs,
            coreset_size=plan.coreset_size,
            coreset_epochs=plan.coreset_epochs,
        )
        if self.settings.filters_updates:
            part.errand.before_upload = lambda: self._filter(part)
        part.process = self._devices.start(part.errand, lambda units: self._salvage(part, units))
        part.process.callbacks.append(partial(self._ended, part, inbox))

    def _filter(self, part: Participation) -> None:
        """Let a client that has trained decide whether to upload its update or only a status."""
        part.kept_back = not self._coordinator.keeps(part.order)
        if part.kept_back:
            part.errand.upload_bytes = STATUS_BYTES
        self.timeline.note("filtered", client=part.client, kept=not part.kept_back)

    def _ended(self, part: Participation, inbox: Inbox | None, process: simpy.Event) -> None:
        """Take note that a device has stopped; what did not arrive is dropped at once."""
        if not process.ok:  # it failed, or was interrupted from outside: the run is over
            return
        del self.under_way[part.client]
        self.presence.release(part.client)
        if not part.arrived and not self._abandoning:
            reported = part.kept_back and part.errand.end == "arrived"
            self.discard(part, "filtered" if reported else part.errand.end or "unfinished")
        elif inbox is not None:
            inbox.append(part)
        self.stir()

    def _salvage(self, part: Participation, units: float) -> float:
        """Shorten an order to the SGD steps finished after `units`; return their units."""
        shorter, done = self._planner.finished(part.order, units)
        if shorter is None:
            return 0.0
        part.order = self._coordinator.amend(shorter)
        part.steps = shorter.plan.stop_after or 0
        self.timeline.note("salvaged", client=part.client, steps=part.steps)
        return done

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
        return self.timeline.all_of(processes)

    def reject_surplus(self, parts: Iterable[Participation], enough: int) -> None:
        """Call late who arrived at the same instant as the last of `enough` but has a higher id."""
        arrived = [part for part in parts if part.arrived]
        for part in sorted(arrived, key=lambda one: (one.errand.ended_s, one.client))[enough:]:
            part.errand.end = "late"
            self.discard(part, "late")

    def discard(self, part: Participation, outcome: Outcome) -> None:
        """Book a participation that does not count; its work is never computed."""
        self._coordinator.drop(part.order)
        self._book(part, outcome)

    def too_stale(self, part: Participation, most: int | None) -> bool:
        """Return whether more than `most` versions (None: any number) were made since its base."""
        return most is not None and self.version - part.order.base > most

    def _book(self, part: Participation, outcome: Outcome, staleness: int = 0) -> None:
        del self._unsettled[part.order.key]
        self.books.book(part, outcome, staleness)

    def aggregate(self, arrived: Sequence[Participation], selected: Iterable[int] = ()) -> Waiting:
        """Make the next model of what arrived (nothing arrived: keep the model); close the round.

        Args:
            arrived: participations whose updates count, in any order.
            selected: everybody who was asked (those who arrived are added).
        """
        if arrived and self.server_time_s > 0:
            # One aggregation at a time: it begins when the one before is done.
            self._free_s = max(self._free_s, self.timeline.now) + self.server_time_s
            yield self.timeline.at(self._free_s)
        arrived = sorted(arrived, key=lambda part: part.order.key)
        facts = Aggregated()
        staleness = [self.version - part.order.base for part in arrived]
        bad: set[tuple[int, int]] = set()
        if arrived:
            arrivals = [
                Arrival(p.order, stale, p.copies, p.duration_s, p.tier)
                for p, stale in zip(arrived, staleness, strict=True)
            ]
            asked = sorted({*selected, *(part.client for part in arrived)})
            facts = self._coordinator.aggregate(self.round, asked, arrivals)
            bad = {(client, issue) for client, issue in facts.discarded}
            self.version += len(arrived) > len(bad)
            self._note_aggregated(facts)
        for part, stale in zip(arrived, staleness, strict=True):
            outcome: Outcome = "discarded" if part.order.key in bad else "arrived"
            self._book(part, outcome, stale)
            if outcome == "arrived":
                self._remember(part, facts.losses.get(part.client, math.nan))
        ends = [p.errand.ends_s["upload"] for p in arrived if p.order.key not in bad]
        self.books.tally.last_arrival_s = max(ends, default=None)
        self._verdict.close(facts)

    def _note_aggregated(self, facts: Aggregated) -> None:
        self.timeline.note(
            "aggregated",
            round=self.round,
            version=self.version,
            losses={str(client): loss for client, loss in facts.losses.items()},
            discarded=[list(key) for key in sorted(facts.discarded)],
            gemd=facts.gemd,
            **facts.extras,
        )

    def _remember(self, part: Participation, loss: float) -> None:
        history, client = self.history, part.client
        history.participations[client] += 1
        history.last_round[client] = self.round
        history.duration_s[client] = part.duration_s
        if np.isfinite(loss):
            history.loss[client] = loss

    def abandon(self) -> Waiting:
        """Stop everything under way at the end of the run, book it, and judge the last model."""
        self._abandoning = True
        helpers = [helper for helper in self._helpers if helper.is_alive]
        yield self.call_off(helpers)
        yield self.call_off(self._unsettled[key] for key in sorted(self._unsettled))
        for key in sorted(self._unsettled):
            self._book(self._unsettled[key], "unfinished")
        self._verdict.close_run()

    def nominal_round_s(self, everybody: bool = False) -> Floats:
        """Return `(m,)` how long the full workload takes each device that holds samples.

        Args:
            everybody: give `(n,)`, the devices without samples too.
        """
        times = self._planner.nominal_round_s()
        return times if everybody else times[self.presence.able]

    # Probes -----------------------------------------------------------------------------------

    def send(self, errand: Errand) -> simpy.Process:
        """Start an errand that is not training, such as answering a probe; the device is busy."""
        self.presence.occupy(errand.device)
        return self._devices.start(errand)

    def holds_model(self, client: int) -> bool:
        """Whether a probe has already brought `client` the present model."""
        return self._holds.get(client) == self.version

    def remember_model(self, client: int, version: int) -> None:
        """Record that `client` holds this version of the model."""
        self._holds[client] = version


def main(server: Server, policy: RoundPolicy) -> Waiting:
    """Run `policy` until it finishes or virtual time is up; the process that a run waits for."""
    server.server_time_s = policy.server_time
    process = server.spawn(policy.run(server))
    limit_s = server.settings.stop.time_s
    over = process if limit_s is None else process | server.timeline.at(limit_s, LAST)
    yield over | server.failed
    if process.is_alive:
        server.finish("time")
    yield from server.abandon()
