"""The server: what round policies share.  A policy only says whom it waits for."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import simpy

from simfl.components.selectors.base import History
from simfl.components.workloads.base import Workload
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.core.words import few
from simfl.errors import InputError
from simfl.sim.coordinator import Aggregated, Coordinator
from simfl.sim.device import Devices
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.active_clients import ActiveClients
from simfl.sim.server.aggregation import Aggregation
from simfl.sim.server.background import Background, Waits
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.closing import Closing
from simfl.sim.server.dispatch import Dispatch
from simfl.sim.server.edges import Edges
from simfl.sim.server.nominal_times import NominalTimes
from simfl.sim.server.planning import Planner
from simfl.sim.server.probing import Probing
from simfl.sim.server.round_end import RoundEnd
from simfl.sim.server.selection import Selection
from simfl.sim.server.settings import Settings
from simfl.sim.server.silence import Silence
from simfl.sim.server.standstill import Standstill
from simfl.sim.server.state import RunState
from simfl.sim.server.waiting import Waiting
from simfl.sim.timeline import Timeline


class Server:
    """Selects, dispatches, waits, aggregates; keeps what a server can know.

    Its parts are made here and know each other, never the server.  What policies need of them is
    offered under the name that it has there: `select`, `send_all`, `aggregate` and so on.

    Attributes:
        state: the round, the model's version, whether the run is over.
        history: what the server remembers of its clients.
        candidates: who can take part.
        holders: devices that hold samples, ascending, whether they can take part or have refused.
        accounting: what happened, as rows.
        edges: what edge servers have, where there are any.
        selection: how clients are chosen.
        under_way: who is at work, by client.
        failed: what fails when a process that was spawned does, with what it raised.
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
        self.seeds = seeds
        self.history = History.empty(fleet.samples)
        self.state = state = RunState(timeline, settings)
        self.candidates = candidates = Candidates(timeline, fleet)
        self.accounting = accounting = Accounting(state, fleet, candidates)
        self.holders: Ids = candidates.able
        if not len(self.holders):
            raise InputError("no device of the fleet holds any training sample")
        waiting = Waiting(state, candidates, seeds)
        silence = Silence(state, candidates, links.steady)
        standstill = Standstill(state, candidates, accounting)
        devices = Devices(timeline, fleet, links, accounting.meter)
        planner = Planner(state, fleet, links, workload, seeds)
        probing = Probing(state, candidates, planner, devices, accounting)
        known = self.history.read_only()
        self.selection = Selection(
            state, coordinator, candidates, waiting, probing, accounting, known, silence
        )
        self._dispatch = dispatch = Dispatch(
            state, coordinator, candidates, planner, devices, accounting, silence, standstill
        )
        self._round_end = RoundEnd(state, coordinator, accounting)
        self._aggregation = Aggregation(state, coordinator, dispatch, self._round_end, self.history)
        self.edges = Edges(state, coordinator, self._aggregation, accounting)
        self._groups = fleet.groups
        self._background = Background(timeline)
        self.failed = self._background.failed
        self._waiting, self._closing = waiting, Closing(timeline)
        self._planner, self._links = planner, links
        times = NominalTimes(state, fleet, links, planner, self.holders)
        self.deadline_s, self.upload_s = times.deadline_s, times.upload_s
        self.nominal_phases_s, self.nominal_round_s = times.nominal_phases_s, times.nominal_round_s
        self.under_way = dispatch.under_way
        self.finish, self.stir = state.finish, state.stir
        self.anyone = waiting.anyone
        self.until_somebody, self.until_change = waiting.until_somebody, waiting.until_change
        self.select = self.selection.select
        self.closing = self._closing.closing
        self.send_all, self.call_off = dispatch.send_all, dispatch.call_off
        self.discard, self.reject_surplus = dispatch.discard, dispatch.reject_surplus
        self.abandon_below = dispatch.abandon_below
        self.too_stale = dispatch.too_stale
        self.aggregate = self._aggregation.aggregate

    @property
    def settings(self) -> Settings:
        """What it was told."""
        return self.state.settings

    @property
    def finished(self) -> bool:
        """Whether a stopping rule has been met."""
        return self.state.finished

    @property
    def time_is_up(self) -> bool:
        """Whether the run may only do what is due at this very instant."""
        return self.state.time_is_up

    @property
    def why_finished(self) -> str | None:
        """Which stopping rule was met, if any."""
        return self.state.why_finished

    @property
    def change(self) -> simpy.Event:
        """What fires when next somebody stops working or comes back, or the run is finished."""
        return self.state.change

    @property
    def waiting_for(self) -> str:
        """What the run waits for now, in words; cheap, for whoever shows that it is alive."""
        if self.under_way:
            what = f"{len(self.under_way)} at work: {few(map(str, self.under_way))}"
            if (closes_s := self._closing.closes_s) < math.inf:
                what += f"; until {closes_s:.10g} s at most"
        elif self.candidates.busy:
            what = f"{self.candidates.busy} who answer the selector"
        else:
            what = self._waiting.awaited or "its updates to be computed and aggregated"
        return f"round {max(self.accounting.row.round, 1)} waits for {what}"

    def begin(self) -> None:
        """Judge the model that the run begins with, if that is wanted."""
        self._round_end.begin()

    def open_round(self, deadline_s: float | None = None) -> None:
        """Begin to work for the next aggregation, which has a deadline or (None) has not."""
        self.state.round += 1
        self.selection.restart()
        self.accounting.open(deadline_s)

    @property
    def groups(self) -> list[Ids]:
        """`(m,)` ids of the devices that hold samples, ascending, of each of the fleet's groups."""
        ends = [(group.first, group.first + group.count) for group in self._groups]
        return [self.holders[slice(*np.searchsorted(self.holders, end))] for end in ends]

    @property
    def cells(self) -> list[Ids]:
        """The same of each of the network's cells that a group of the fleet is in."""
        cells: dict[str | None, list[Ids]] = {}
        for group, members in zip(self._groups, self.groups, strict=True):
            cells.setdefault(group.cell, []).append(members)
        return [np.concatenate(members) for members in cells.values()]

    def until_quorum(self, asked: int, among: Ids | None = None) -> Waits:
        """Wait until a round that asks so many may begin, or the run is finished.

        Args:
            asked: how many.
            among: `(m,)` whom (None: everybody); it goes on, too, if none will ever be there.
        """
        least = self.settings.min_clients
        yield from self._waiting.until_quorum(least or asked, least is not None, among)

    def keep_active(
        self, size: int, timeout_s: float = math.inf, beats: bool = False
    ) -> ActiveClients:
        """Return what keeps `size` clients at work; arguments as of `ActiveClients`."""
        return ActiveClients(
            self.state, self._waiting, self.selection, self._dispatch, self._background.begin,
            size, timeout_s, beats,
        )  # fmt: skip

    def attend(
        self, server_time_s: float, edges: Sequence[Ids], watch: Callable[[Waits], Waits]
    ) -> None:
        """Get ready for the rounds of a policy.

        Args:
            server_time_s: how long an aggregation takes.
            edges: `(m,)` ids of each edge server's clients, if there are any.
            watch: returns what does as a process that is spawned, and tells whose fault it is if
                that fails.
        """
        self._aggregation.restart(server_time_s)
        self._links.separate(edges)
        self._watch = watch

    def spawn(self, process: Waits) -> simpy.Process:
        """Start a process of the round policy's, which ends with its rounds."""
        return self._background.spawn(self._watch(process))

    def conclude(self) -> Waits:
        """End the run: call off who is at work, judge the last model."""
        yield from self._dispatch.abandon(self._background.alive)
        self._round_end.close_run()
        self.accounting.close_run()

    def interrupt(self) -> Waits:
        """End the rounds that were begun, though the run goes on: call off who is at work."""
        yield from self._dispatch.abandon(self._background.alive, drop=True)

    def follow(self, settings: Settings, workload: Workload | None = None) -> None:
        """Go by other rules from now on; where no `workload` is given, by the same."""
        was_up, self.state.settings = self.time_is_up, settings
        if was_up:  # there may be more time now
            self.stir()
        self._planner.follow(workload)
        dismissed = self.candidates.dismissed
        self.candidates.readmit([n for n in dismissed if not self._planner.refuses(n)])

    def close_round(self) -> None:
        """Close the round that was interrupted, if one was, with the model that it began with."""
        if self._round_end.pending:
            self._round_end.close(Aggregated())
