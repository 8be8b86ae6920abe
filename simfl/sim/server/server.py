"""The server: what round policies share, so that a policy file says only whom it waits for."""

import math
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from simfl.components.selectors.base import History
from simfl.components.workloads.base import Workload
from simfl.core.blame import blaming, expect
from simfl.core.rows import Outcome
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids
from simfl.errors import InputError
from simfl.sim.coordinator import Aggregated, Arrival, Coordinator
from simfl.sim.device import DeviceProcess, Errand
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.server.background import Background, Waiting
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.dispatch import Dispatch, Inbox
from simfl.sim.server.participation import Accounting, Participation
from simfl.sim.server.planning import Planner
from simfl.sim.server.round_end import RoundEnd
from simfl.sim.server.selection import Selection
from simfl.sim.server.settings import Settings, Stop
from simfl.sim.timeline import LAST, Timeline

__all__ = ["Server", "Settings", "Stop", "main"]


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
        self.candidates = Candidates(timeline, fleet)
        self.accounting = Accounting(timeline, fleet)
        self.history = History.empty(fleet.samples)
        self.round = 0
        self.version = 0
        self.why_finished: str | None = None
        self.truth: dict[str, NDArray[Any]] | None = None
        """What no server can know, only there for selectors marked as oracles."""
        self.server_time_s = 0.0
        self.selection = Selection(self, coordinator)
        self._round_end = RoundEnd(self, coordinator)
        self._coordinator = coordinator
        self._planner = Planner(fleet, links, workload, settings, seeds)
        self._devices = DeviceProcess(timeline, fleet, links)
        self._dispatch = Dispatch(self, coordinator, self._planner, self._devices)
        self.under_way = self._dispatch.under_way
        self._background = Background(timeline)
        self._change = simpy.Event(timeline)
        self._free_s = 0.0
        self._holds: dict[int, int] = {}
        if not len(self.candidates.able):
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
        return self.candidates.anyone(among, lambda: self.seeds.stream("presence", self.round))

    def chance(self, among: Ids | None = None) -> simpy.Event:
        """Return what to wait for until somebody (of `among`) can take part.

        The run is finished if nobody ever will.
        """
        back_s = self.candidates.next_return_s(among)
        if back_s < math.inf:
            back = self.timeline.at(back_s)
            return back | self._change if self.under_way or among is not None else back
        change = self._change
        if not (self.under_way or self.selection.asking) and (
            among is None or not (self.anyone() or self.candidates.next_return_s() < math.inf)
        ):
            self.finish("nobody will be available again")
        return change

    def pause(self) -> simpy.Event:
        """Return what to wait for once nobody who was asked found anything useful to do.

        That is until something changes.  The run is finished if nothing ever will.
        """
        change = self._change
        if (back_s := self.candidates.next_return_s()) < math.inf:
            return self.timeline.at(back_s) | change
        if not (self.under_way or self.selection.asking):
            self.finish("nobody finds anything useful to do")
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
        return self._background.spawn(process)

    @property
    def failed(self) -> simpy.Event:
        """What fails when a process of the server's own does, with what it raised."""
        return self._background.failed

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
        self.accounting.open(self.round)
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
        """See `Dispatch.send_all`."""
        return self._dispatch.send_all(chosen, limit_s, inbox, tier)

    def call_off(self, work: Iterable[simpy.Process | Participation]) -> simpy.Event:
        """See `Dispatch.call_off`."""
        return self._dispatch.call_off(work)

    def reject_surplus(self, parts: Iterable[Participation], enough: int) -> None:
        """See `Dispatch.reject_surplus`."""
        self._dispatch.reject_surplus(parts, enough)

    def discard(self, part: Participation, outcome: Outcome) -> None:
        """See `Dispatch.discard`."""
        self._dispatch.discard(part, outcome)

    def too_stale(self, part: Participation, most: int | None) -> bool:
        """Return whether more than `most` versions (None: any number) were made since its base."""
        return most is not None and self.version - part.order.base > most

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
            self._dispatch.book(part, outcome, stale)
            if outcome == "arrived":
                self._remember(part, facts.losses.get(part.client, math.nan))
        ends = [p.errand.ends_s["upload"] for p in arrived if p.order.key not in bad]
        self.accounting.totals.last_arrival_s = max(ends, default=None)
        self._round_end.close(facts)

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
        yield from self._dispatch.abandon(self._background.alive)
        self._round_end.close_run()

    def nominal_round_s(self, everybody: bool = False) -> Floats:
        """Return `(m,)` how long the full workload takes each device that holds samples.

        Args:
            everybody: give `(n,)`, the devices without samples too.
        """
        times = self._planner.nominal_round_s()
        return times if everybody else times[self.candidates.able]

    # Probes -----------------------------------------------------------------------------------

    def send(self, errand: Errand) -> simpy.Process:
        """Start an errand that is not training, such as answering a probe; the device is busy."""
        self.candidates.occupy(errand.device)
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
    process = server.spawn(_run(policy, server))
    limit_s = server.settings.stop.time_s
    over = process if limit_s is None else process | server.timeline.at(limit_s, LAST)
    yield over | server.failed
    if process.is_alive:
        server.finish("time")
    yield from server.abandon()


def _run(policy: RoundPolicy, server: Server) -> Waiting:
    with blaming(policy, lambda: f"in round {server.round}", passing=simpy.Interrupt):
        process = policy.run(server)
        expect(isinstance(process, Generator), "a generator of events", type(process).__name__)
        yield from process
        expect(server.finished, "rounds until `server.finished`", "an end before that")
