"""The server: what round policies share, so that a policy file says only whom it waits for."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from simfl.errors import InputError, RunError
from simfl.rows import Outcome
from simfl.seeds import Seeds
from simfl.selectors.base import History, Probe, Reports, View
from simfl.sim.coordinator import Aggregated, Arrival, Coordinator
from simfl.sim.device import DeviceProcess, Errand
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.participation import Books, Participation
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.probing import Prices, ask, extras
from simfl.sim.timeline import Timeline
from simfl.work import Floats, Ids, Plan, WorkOrder
from simfl.workloads.base import Assignment, Workload

Waiting = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Stop:
    """When a run ends: whichever comes first (None: not by that)."""

    rounds: int | None = None
    time_s: float | None = None
    accuracy: float | None = None
    size: int | None = None


@dataclass(frozen=True)
class Settings:
    """What the server was told.

    Attributes:
        clients: how many to select per round.
        epochs: nominal local epochs.
        steps: nominal local steps, instead of epochs.
        batch_size: of local training.
        convex: whether the model has no hidden layer.
        stop: when to end.
        evaluate_every: rounds between evaluations.
        targets: accuracies whose first crossing is noted.
        prices: what everything costs.
        wants: what participants measure beside their update.
    """

    clients: int
    epochs: int
    steps: int | None
    batch_size: int
    convex: bool
    stop: Stop
    evaluate_every: int
    targets: Sequence[float]
    prices: Prices
    wants: Sequence[str] = ()

    @property
    def nominal(self) -> Plan:
        """The full workload."""
        return Plan(steps=self.steps) if self.steps is not None else Plan(self.epochs)


class Server:
    """Selects, dispatches, waits, aggregates; keeps what a server can know."""

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
        self.books = Books(timeline, fleet)
        self.history = History.empty(fleet.samples)
        self.round = 0
        self.version = 0
        self.why_finished: str | None = None
        self.truth: dict[str, NDArray[Any]] | None = None
        """What no server can know, only there for selectors marked as oracles."""
        self.under_way: dict[int, Participation] = {}
        self._coordinator = coordinator
        self._workload = workload
        self._seeds = seeds
        self._links = links
        self._devices = DeviceProcess(timeline, fleet, links)
        self._issues: dict[int, int] = {}
        self._holds: dict[int, int] = {}
        self._probing: set[int] = set()
        self._reached: set[float] = set()
        self._extra_units, extra_bytes = extras(settings.wants, settings.prices, fleet)
        self._upload_bytes = settings.prices.update_bytes + extra_bytes
        self._able = np.flatnonzero(fleet.samples > 0)
        if not len(self._able):
            raise InputError("no device of the fleet holds any training sample")

    # Who can take part ------------------------------------------------------------------------

    def reachable(self, clients: Ids) -> Ids:
        """Return those of `clients` that are online, idle and hold samples, in their order."""
        clients = clients[self.fleet.samples[clients] > 0]
        online = self.fleet.online(clients, self.timeline.now)
        idle = np.array([client not in self.under_way for client in clients.tolist()], dtype=bool)
        return clients[online & idle] if len(clients) else clients

    def _draw(self, k: int, rng: np.random.Generator) -> Ids:
        """Return up to `k` reachable clients, uniformly, looking at few of a large fleet."""
        pool, wanted = len(self._able), 4 * k + 64
        if pool > 64 * wanted:
            seen: dict[int, None] = {}
            found: list[int] = []
            while len(seen) < pool // 16:
                fresh = [i for i in rng.integers(pool, size=wanted).tolist() if i not in seen]
                fresh = list(dict.fromkeys(fresh))
                seen.update(dict.fromkeys(fresh))
                found += self.reachable(self._able[fresh]).tolist() if fresh else []
                if len(found) >= k:
                    return np.sort(np.array(found[:k], dtype=np.int64))
        available = self.reachable(self._able)
        return np.sort(rng.choice(available, size=min(k, len(available)), replace=False))

    def wait_for_devices(self) -> Waiting:
        """Wait until somebody can take part; finish the run if nobody ever will."""
        while not len(self._draw(1, self._seeds.stream("presence", self.round))):
            back_s = self.fleet.next_online_s(self.timeline.now)
            if back_s <= self.timeline.now:  # online but busy, or without samples
                back_s = self._next_change_s()
            if back_s == float("inf"):
                if not self.under_way:
                    self.finish("nobody will be available again")
                return
            yield self.timeline.at(back_s)

    def _next_change_s(self) -> float:
        now = self.timeline.now
        later = [self.fleet.returns_s(int(device), now) for device in self._able]
        return min((instant for instant in later if instant > now), default=float("inf"))

    # Rounds -----------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether a stopping rule has been met."""
        return self.why_finished is not None

    def finish(self, why: str) -> None:
        """End the run, for the first reason given."""
        self.why_finished = self.why_finished or why

    def open_round(self) -> None:
        """Begin the next round."""
        self.round += 1
        self.books.open(self.round)
        self.timeline.note("round", round=self.round, version=self.version)

    def select(self, k: int) -> Generator[simpy.Event, Any, Counter[int]]:
        """Ask what the selector needs to know, then return whom it chose and how often."""
        view = self._view(k)
        reports: tuple[Reports, ...] = ()
        while (probe := self._coordinator.next_probe(view, reports)) is not None:
            took = yield from ask(self, probe)
            answer = self._coordinator.answer(probe, list(took), list(took.values()), view)
            reports += (answer,)
            view = self._view(k)
        chosen = self._coordinator.select(view, reports, k)
        if not chosen:
            raise RunError(f"the selector chose nobody in round {self.round}")
        self.timeline.note("selected", round=self.round, asked=k, clients=chosen)
        self.books.tally.selected += len(set(chosen))
        return Counter(chosen)

    def _view(self, k: int) -> View:
        return View(
            self.round,
            self.timeline.now,
            self.history,
            available=lambda: self.reachable(self._able),
            draw=self._draw,
            model_bytes=self.settings.prices.model_bytes,
            k=k,
            truth=self.truth,
        )

    def dispatch(
        self, client: int, limit_s: float = float("inf"), copies: int = 1
    ) -> Participation | None:
        """Send work to `client`, which is to be back within `limit_s`; None if it is skipped."""
        issue = self._issues.get(client, 0)
        seed = self._seeds.number("batches", client, issue)
        plan = self._workload.plan(self._assignment(client, limit_s, seed))
        samples = int(self.fleet.samples[client])
        size = self.settings.batch_size
        order = WorkOrder(client, issue, self.round, self.version, plan or Plan(), seed)
        download = None if self.holds_model(client) else self.settings.prices.model_bytes
        units = order.plan.units(samples, size) + float(self._extra_units[client])
        errand = Errand(client, download, units, self._upload_bytes)
        steps = order.plan.n_steps(samples, size)
        part = Participation(self.round, order, errand, copies, self.timeline.now, steps)
        if plan is None:
            self.books.book(part, "skipped")
            return None
        self._issues[client] = issue + 1
        self._coordinator.issue(order)
        self.under_way[client] = part
        self.timeline.note(
            "dispatched",
            round=self.round,
            client=client,
            units=errand.units,
            full_epochs=plan.full_epochs,
            coreset_size=plan.coreset_size,
            coreset_epochs=plan.coreset_epochs,
        )
        part.process = self._devices.start(errand, lambda units: self._salvage(part, units))
        return part

    def _assignment(self, client: int, limit_s: float, seed: int) -> Assignment:
        prices = self.settings.prices
        rate = float(self.fleet.rate[client])
        size = None if self.holds_model(client) else prices.model_bytes
        down_s = 0.0 if size is None else self._links.expected_s(client, "down", size)
        up_s = self._links.expected_s(client, "up", self._upload_bytes)
        extra = float(self._extra_units[client])
        return Assignment(
            client=client,
            samples=int(self.fleet.samples[client]),
            batch_size=self.settings.batch_size,
            epochs=self.settings.epochs,
            steps=self.settings.steps,
            units_left=max((limit_s - down_s - up_s) * rate - extra, 0.0),
            fits=lambda units: (down_s + (units + extra) / rate) + up_s <= limit_s,
            rng_seed=seed,
            convex=self.settings.convex,
        )

    def _salvage(self, part: Participation, units: float) -> float:
        """Shorten an order to the SGD steps finished after `units`; return their units."""
        done = part.order.plan.units_by_step(
            int(self.fleet.samples[part.client]), self.settings.batch_size
        )
        steps = int(np.searchsorted(done, units * (1 + 1e-12), side="right"))
        if not steps:
            return 0.0
        shorter = replace(part.order, plan=replace(part.order.plan, stop_after=steps))
        part.order = self._coordinator.amend(shorter)
        part.steps = steps
        self.timeline.note("salvaged", client=part.client, steps=steps)
        return float(done[steps - 1])

    def call_off(self, processes: Iterable[simpy.Process]) -> simpy.Event:
        """Interrupt those still running; return an event for when all of them have stopped."""
        processes = list(processes)
        for process in processes:
            if process.is_alive:
                process.interrupt()
        return self.timeline.all_of(processes)

    def settle(self, parts: Iterable[Participation]) -> list[Participation]:
        """Drop the work of those who did not arrive; return those who did, in client order."""
        arrived = []
        for part in sorted(parts, key=lambda one: one.client):
            del self.under_way[part.client]
            if part.errand.end == "arrived":
                arrived.append(part)
            else:
                self.discard(part, part.errand.end or "unfinished")
        return arrived

    def discard(self, part: Participation, outcome: Outcome) -> None:
        """Book a participation that does not count; its work is never computed."""
        self._coordinator.drop(part.order)
        self.books.book(part, outcome)

    def aggregate(self, arrived: Sequence[Participation], selected: Iterable[int]) -> None:
        """Make the next model of what arrived (nothing arrived: keep the model)."""
        facts = Aggregated()
        staleness = {part.client: self.version - part.order.base for part in arrived}
        bad: set[int] = set()
        if arrived:
            arrivals = [
                Arrival(p.order, staleness[p.client], p.copies, p.duration_s) for p in arrived
            ]
            facts = self._coordinator.aggregate(self.round, sorted(selected), arrivals)
            bad = set(facts.discarded)
            self.version += len(arrived) > len(bad)
            self._note_aggregated(facts)
        for part in arrived:
            outcome: Outcome = "discarded" if part.client in bad else "arrived"
            self.books.book(part, outcome, staleness[part.client])
            if outcome == "arrived":
                self._remember(part, facts.losses.get(part.client, float("nan")))
        ends = [p.errand.ends_s["upload"] for p in arrived if p.client not in bad]
        self.books.tally.last_arrival_s = max(ends, default=None)
        self._close(facts)

    def _note_aggregated(self, facts: Aggregated) -> None:
        self.timeline.note(
            "aggregated",
            round=self.round,
            version=self.version,
            losses={str(client): loss for client, loss in facts.losses.items()},
            discarded=sorted(facts.discarded),
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

    def _close(self, facts: Aggregated) -> None:
        """Evaluate if due, write the round's row and check the stopping rules."""
        stop = self.settings.stop
        last = self.round == stop.rounds
        evaluation = None
        if last or self.round % self.settings.evaluate_every == 0:
            evaluation = self._coordinator.evaluate(self.round)
        finite = [loss for loss in facts.losses.values() if np.isfinite(loss)]
        mean_loss = sum(finite) / len(finite) if finite else None
        if evaluation is not None:
            self.timeline.note(
                "evaluated", round=self.round, accuracy=evaluation.accuracy, loss=evaluation.loss
            )
        self.books.close(evaluation, mean_loss, facts.gemd)
        if evaluation is not None:
            self._note_targets(evaluation.accuracy)
            if stop.accuracy is not None and evaluation.accuracy >= stop.accuracy:
                self.finish("accuracy")
        if last:
            self.finish("rounds")
        if stop.size is not None and self.books.total_bytes >= stop.size:
            self.finish("bytes")
        if stop.time_s is not None and self.timeline.now >= stop.time_s:
            self.finish("time")

    def _note_targets(self, accuracy: float) -> None:
        for target in self.settings.targets:
            if accuracy >= target and target not in self._reached:
                self._reached.add(target)
                self.timeline.note(
                    "target",
                    accuracy=target,
                    round=self.round,
                    bytes=self.books.total_bytes,
                    energy_j=self.books.total_energy_j,
                )

    def abandon(self) -> Waiting:
        """Stop everything under way at the end of the run, and book it."""
        parts = [self.under_way[client] for client in sorted(self.under_way)]
        yield self.call_off(part.process for part in parts if part.process is not None)
        for part in parts:
            del self.under_way[part.client]
            self.books.book(part, "unfinished")

    # Deadlines --------------------------------------------------------------------------------

    def nominal_round_s(self, everybody: bool = False) -> Floats:
        """Return `(m,)` how long the full workload takes each device that holds samples.

        Args:
            everybody: give `(n,)`, the devices without samples too.
        """
        size = self.settings.batch_size
        plan = self.settings.nominal
        if plan.steps is None:
            units = plan.full_epochs * self.fleet.samples.astype(np.float64)
        else:
            sizes, index = np.unique(self.fleet.samples, return_inverse=True)
            units = np.array([plan.units(int(n), size) for n in sizes])[index]
        units = units + self._extra_units
        times = self.fleet.round_s(self.settings.prices.model_bytes, units, self._upload_bytes)
        return times if everybody else times[self._able]

    # Probes -----------------------------------------------------------------------------------

    def send(self, errand: Errand) -> simpy.Process:
        """Start an errand that is not training, such as answering a probe."""
        return self._devices.start(errand)

    def holds_model(self, client: int) -> bool:
        """Whether a probe has already brought `client` the present model."""
        return self._holds.get(client) == self.version

    def remember_model(self, client: int) -> None:
        """Record that `client` holds the present model."""
        self._holds[client] = self.version

    def note_probe(self, probe: Probe, answered: list[int]) -> None:
        """Record a probe."""
        self.timeline.note(
            "probed",
            round=self.round,
            report=probe.report,
            model=probe.model,
            asked=probe.clients.tolist(),
            answered=answered,
        )


def main(server: Server, policy: RoundPolicy) -> Waiting:
    """Run `policy` until it finishes or virtual time is up; the process that a run waits for."""

    def guarded() -> Waiting:
        try:
            yield from policy.run(server)
        except simpy.Interrupt:
            return

    process = server.timeline.process(guarded())
    limit_s = server.settings.stop.time_s
    if limit_s is None:
        yield process
    else:
        yield process | server.timeline.deadline(limit_s)
        if process.is_alive:
            server.finish("time")
            process.interrupt()
            yield process
    yield from server.abandon()
