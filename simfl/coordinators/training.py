"""Real training behind the door: answers the server's questions with tensors."""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution
from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import MODEL, PERSONAL, BaseCoordinator, Choosing, moment
from simfl.coordinators.computing import Computing
from simfl.coordinators.diagnostics import diagnostics
from simfl.coordinators.early_results import EarlyResults
from simfl.coordinators.global_model import GlobalModel
from simfl.coordinators.guarded_aggregator import GuardedAggregator
from simfl.coordinators.model_versions import ModelVersions
from simfl.coordinators.not_finite import blame_for_not_finite
from simfl.coordinators.outcome import tell_outcome
from simfl.coordinators.personal import Measure
from simfl.coordinators.probe_answers import ProbeAnswers
from simfl.coordinators.update_path import UpdatePath
from simfl.core.evaluation import Evaluation
from simfl.core.readonly import read_only
from simfl.core.types import OrderKey, Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.sim.coordinator import Aggregated, Arrival, EdgeModel, RoundUpdates
from simfl.training.executors.base import Executor
from simfl.training.executors.sums import Sum, is_sound


class TrainingCoordinator(BaseCoordinator):
    """A coordinator that trains.

    Args:
        choosing: who chooses.
        executor: computes orders and measures; already started.
        aggregator: fresh.
        model: what is learnt.
        path: what becomes of updates on their way to the server.
        nominal: the full workload, for probes that train.
    """

    def __init__(
        self,
        choosing: Choosing,
        executor: Executor,
        aggregator: Aggregator,
        model: GlobalModel,
        path: UpdatePath,
        nominal: Plan,
    ) -> None:
        self._guarded = GuardedAggregator(aggregator, choosing.seeds)
        self._versions = ModelVersions(model.initial)
        self._personal = personal = model.personal
        self._computing = Computing(executor, self._versions, self._guarded, personal)
        super().__init__(self._computing.execute, choosing)
        self._executor = executor
        self._global_model = model
        self._nominal = nominal
        self._path = path
        self._early = EarlyResults(self.ledger, self._computing.execute)
        measure: Measure = executor.measure
        if personal is not None:
            measure = partial(personal.measure, measure)
        self._answers = ProbeAnswers(measure, choosing.seeds, self._versions, self._train_aside)

    @property
    def model(self) -> Params:
        """`(p,)` the present global model, but for what is personal."""
        return self._versions.model

    @property
    def version(self) -> int:
        """Of the present global model."""
        return self._versions.present

    @override
    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        probe = super().next_probe(view, reports)
        self._answers.begin(view, asks=probe is not None)
        return probe

    @override
    def answer(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        """Clients answer about the model that they were sent, whatever was aggregated meanwhile."""
        return self._answers.end(probe, took_s, view)

    def _train_aside(
        self, clients: Sequence[int], view: View, version: int
    ) -> Sequence[WorkResult]:
        """Train for a probe: real work, accounted for and compressed like any other."""
        orders = []
        for client in clients:
            seed = self._seeds.number("probe", client, *moment(view))
            order = WorkOrder(client, -view.round, view.round, version, self._nominal, seed)
            orders.append(self.ledger.issue(order))
        results = self.ledger.collect(orders)
        received = iter(self._received([result for result in results if is_sound(result)]))
        return [next(received) if is_sound(result) else result for result in results]

    @override
    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        before = self.model
        model, facts = self._next_model(before, updates)
        if model is not None:
            self._path.moved(self.version, None if model is before else model - before)
            self._versions.add(model)
        self._forget_old_models()
        return facts

    @override
    def aggregate_at_edge(self, updates: RoundUpdates, base: int, made: int) -> Aggregated:
        model, facts = self._next_model(self._versions[base], updates)
        if model is not None:
            self._versions.add_of_edge(made, model, instead=base)
        return facts

    @override
    def merge(self, round_: int, edges: Sequence[EdgeModel], clients: Sequence[int]) -> Aggregated:
        if edges:
            before, models = self.model, [self._versions[edge.version] for edge in edges]
            model = self._guarded.mean(models, [edge.samples for edge in edges], round_)
            self._path.moved(self.version, model - before)
            self._versions.add(model)
        self._versions.forget_edges()
        self._forget_old_models()
        return Aggregated(gemd=self.gemd(clients))

    def _next_model(self, model: Params, updates: RoundUpdates) -> tuple[Params | None, Aggregated]:
        """Return what comes of `model` `(p,)`, itself if nothing counts (None: nothing is finite).

        And what became of each update.
        """
        round_ = updates.round
        good, discarded, summed = self._results(updates)
        if discarded:
            clients = [client for client, _ in discarded]
            blame_for_not_finite(self._executor.task, self._global_model, clients, round_)
        received = self._received(good)
        if self._path.forgers:  # what they send need not be finite
            discarded += [result.order.key for result in received if not is_sound(result)]
            received = [result for result in received if is_sound(result)]
        contributions: list[Contribution] = []
        if received:
            by_key = {arrival.order.key: arrival for arrival in updates.arrivals}
            counting = [self._contribution(r, by_key[r.order.key]) for r in received]
            if contributions := self._path.let_through(counting, round_, self.version):
                model = self._guarded.next_model(model, contributions, summed, round_)
                tell_outcome(self._selector, updates, contributions, self._global_model.layers)
        counted = {c.result.order.key: c.result.loss for c in contributions}
        facts = Aggregated(
            losses={client: loss for (client, _), loss in counted.items()},
            discarded=discarded,
            filtered=[result.order.key for result in received if result.order.key not in counted],
            gemd=self.gemd([client for client, _ in counted]),
        )
        return (model if received else None), facts

    def _results(
        self, updates: RoundUpdates
    ) -> tuple[list[WorkResult], list[OrderKey], Sum | None]:
        """Return what comes of training: the results that count, and whose are no finite numbers.

        And the sum of the models; None: they are needed singly, or better so.
        """
        arrivals, orders = updates.arrivals, updates.orders
        singly = (
            self._selector.needs_updates
            or "gradient" in self._selector.wants
            or not self._path.lossless
            or self._path.filter.stage != "none"
            or any(a.staleness or a.order in self._early for a in arrivals)
        )
        if singly or not self._computing.adds_up(arrivals):
            good, discarded = list[WorkResult](), list[OrderKey]()
            for result in self._early.collect(orders):
                if is_sound(result):
                    good.append(result)
                else:
                    discarded.append(result.order.key)
            return good, discarded, None
        self.ledger.count_computed(orders)
        summed = self._computing.add_up(arrivals)
        return summed.results, summed.discarded, summed

    @override
    def keeps(self, order: WorkOrder) -> bool:
        """Trains now, for the decision needs the update."""
        [result] = self.ledger.collect([order])
        self._early.keep(order, result)
        return self._path.keeps(result.params - self._versions[order.base], order)

    @override
    def drop(self, order: WorkOrder) -> None:
        """What a filter had to see was computed, and is now forgotten."""
        if not self._early.forget(order):
            super().drop(order)

    @override
    def replay_early(self, order: WorkOrder) -> None:
        super().replay_early(order)
        self._early.keep(order, None)

    @override
    def replay(self, orders: Iterable[WorkOrder]) -> None:
        super().replay([order for order in orders if not self._early.forget(order)])

    @override
    def adopt(self, rules: Self, same: Container[str]) -> None:
        super().adopt(rules, same)
        if "aggregation" in same:
            rules._guarded.aggregator.load_state_dict(self._guarded.aggregator.state_dict())
        rules._path.go_on_from(self._path, same)
        self._guarded.aggregator = rules._guarded.aggregator
        self._path, self._nominal = rules._path, rules._nominal
        self._answers.end_all()
        self._versions.forget_edges()

    def _received(self, results: Sequence[WorkResult]) -> list[WorkResult]:
        """Return what the server receives of `results` that come together."""
        bases = [read_only(self._versions[result.order.base]) for result in results]
        return self._path.received(results, bases)

    def _contribution(self, received: WorkResult, arrival: Arrival) -> Contribution:
        base = read_only(self._versions[received.order.base])
        return Contribution(
            received, base, arrival.staleness, arrival.copies, arrival.tier, arrival.arrived_s
        )

    def _forget_old_models(self) -> None:
        needed = {order.base for order in [*self.ledger.open, *self._early.orders]}
        needed |= {self.version, *self._answers.asked_about}
        self._versions.forget(needed)
        self._path.forget(needed)

    @override
    def evaluate(self, round_: int) -> Evaluation | None:
        return self._global_model.judge(self.model)

    @override
    def artifacts(self) -> dict[str, bytes]:
        shown = diagnostics(self._selector, self._guarded.aggregator)
        personal = {} if self._personal is None else {PERSONAL: self._personal.dump()}
        return {MODEL: self._global_model.dump(self.model), **personal, **shown}

    @override
    def state_dict(self) -> dict[str, Any]:
        return {
            **self._versions.state_dict(),
            "trial": self._answers.trial,
            "path": self._path.state_dict(),
            "selector": self._selector.state_dict(),
            "aggregator": self._guarded.aggregator.state_dict(),
            **({} if self._personal is None else {"personal": self._personal.state_dict()}),
        }

    @override
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._versions.load_state_dict(state)
        self._answers.trial = state["trial"]
        self._path.load_state_dict(state["path"])
        self._selector.load_state_dict(state["selector"])
        self._guarded.aggregator.load_state_dict(state["aggregator"])
        if self._personal is not None:
            self._personal.load_state_dict(state["personal"])
