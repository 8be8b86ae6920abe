"""Flower behind the door: a user's `Strategy` decides, their clients train (``simfl[flower]``).

Who is asked is the strategy's choice among those whom virtual time has available; how long each
takes, and who comes in time, is the fleet's; what is learned is Flower's.  Configuring, aggregating
and evaluating take no virtual time, as elsewhere in simfl.
"""

import io
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import MODEL, BaseCoordinator, Choosing
from simfl.coordinators.flower_clients import (
    FlowerClients,
    described,
    flower,
    manager,
    proxy,
    users,
)
from simfl.core.evaluation import Evaluation
from simfl.core.types import OrderKey
from simfl.core.work import WorkOrder, WorkResult
from simfl.errors import ComponentError, InputError, RunError
from simfl.sim.coordinator import Aggregated, RoundUpdates

_LOG = logging.getLogger(__name__)


class FlowerCoordinator(BaseCoordinator):
    """A coordinator whose decisions are those of a Flower strategy.

    Args:
        choosing: whose seeds and label counts are used; its selector is not asked.
        strategy: fresh.
        clients: train.
        count: how many clients there are.

    Raises:
        ComponentError: the strategy or client 0 raises, or returns what training can't begin with.
        InputError: neither of them says what it begins with.
    """

    def __init__(
        self, choosing: Choosing, strategy: Any, clients: FlowerClients, count: int
    ) -> None:
        super().__init__(self._fit, choosing)
        self._strategy = strategy
        self._clients = clients
        self._proxies = {number: proxy(number, clients) for number in range(count)}
        self._manager = manager(self._proxies)
        self._chosen: dict[int, Any] = {}  # instructions by client, of the last selection
        self._given: dict[OrderKey, Any] = {}
        self._fitted: dict[OrderKey, Any] = {}
        self._failed: dict[int, BaseException] = {}  # by client
        self.parameters = self._initial()

    def _initial(self) -> Any:
        with users("the strategy's initialize_parameters"):
            began = _parameters(self._strategy.initialize_parameters(self._manager))
        if began is None:
            with users("client 0's get_parameters"):
                asked = flower("common").GetParametersIns(config={})
                began = _parameters(self._proxies[0].get_parameters(asked, None, None).parameters)
        if began is None or not began.tensors:
            raise InputError("neither the strategy nor client 0 has parameters to begin with")
        return began

    @property
    def arrays(self) -> list[Any]:
        """The present global model, as NumPy arrays."""
        return list(flower("common").parameters_to_ndarrays(self.parameters))

    @override
    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        return None

    @override
    def answer(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        raise RunError("a Flower strategy asks nothing before it chooses")

    @property
    @override
    def chooser(self) -> str:
        return "the strategy"

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        self._manager.offered = {n: self._proxies[n] for n in view.available.tolist()}
        self._manager.rng = self._seeds.stream("selection", view.round, view.turn)
        with _of_round("configure_fit", view.round):
            pairs = self._strategy.configure_fit(view.round, self.parameters, self._manager)
            self._chosen = {int(client.cid): instructions for client, instructions in pairs}
        return [int(client.cid) for client, _ in pairs]

    @override
    def issue(self, order: WorkOrder) -> WorkOrder:
        self._given[order.key] = self._chosen[order.client]
        return super().issue(order)

    @override
    def drop(self, order: WorkOrder) -> None:
        del self._given[order.key]
        super().drop(order)

    def _fit(self, orders: Sequence[WorkOrder]) -> list[WorkResult]:
        """Let the user's clients train, one after the other; what they raise is a failure."""
        results = []
        for order in orders:
            try:
                fitted = self._clients(order.client).fit(self._given.pop(order.key))
                if fitted.status.code.name != "OK":
                    raise RunError(f"client {order.client}: {fitted.status.message}")
                loss = _number(fitted.metrics.get("loss"))
            except Exception as error:
                self._failed[order.client] = error
                continue
            self._fitted[order.key] = fitted
            none = np.zeros(0, dtype=np.float32)
            results.append(WorkResult(order, none, loss, 1, fitted.num_examples))
        return results

    @override
    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        """Who was asked and did not arrive is a failure to the strategy, as in Flower."""
        results = self.ledger.collect(updates.orders)
        done = [result.order for result in results]
        answered = {order.client for order in done}
        raised, self._failed = self._failed, {}
        failures = [
            raised.get(number) or TimeoutError(f"client {number} did not arrive")
            for number in sorted({*updates.selected, *raised} - answered)
        ]
        pairs = [(self._proxies[o.client], self._fitted.pop(o.key)) for o in done]
        if raised and not pairs:
            first = described(raised[min(raised)])
            raise ComponentError(f"all clients of round {updates.round} failed: {first}")
        with _of_round("aggregate_fit", updates.round):
            parameters, _ = self._strategy.aggregate_fit(updates.round, pairs, failures)
            self.parameters = _parameters(parameters) or self.parameters
        return Aggregated(
            losses={r.order.client: r.loss for r in results},
            discarded=[order.key for order in updates.orders if order not in done],
            gemd=self.gemd([order.client for order in done]),
        )

    @override
    def evaluate(self, round_: int) -> Evaluation | None:
        """Judge by the strategy, centrally or on the clients that it chooses.

        Before round 1, only centrally, as Flower's server does.
        """
        with _of_round("evaluate", round_):
            judged = self._strategy.evaluate(round_, self.parameters)
            if judged is not None:
                return _evaluation(judged)
        return self._judged_by_clients(round_) if round_ > 0 else None

    def _judged_by_clients(self, round_: int) -> Evaluation | None:
        """Return what the strategy makes of its clients' evaluations (None: none evaluated)."""
        self._manager.offered = self._proxies
        self._manager.rng = self._seeds.stream("evaluation", round_)
        with _of_round("configure_evaluate", round_):
            asked = self._strategy.configure_evaluate(round_, self.parameters, self._manager)
            pairs = [(client, instructions) for client, instructions in asked]
        answers: list[Any] = []
        refusals: list[Any] = []  # of clients that can't evaluate, by Flower's default for one
        raised: list[BaseException] = []
        for client, instructions in pairs:
            try:
                answer = client.evaluate(instructions, None, None)
            except Exception as error:
                raised.append(error)
                continue
            done = answer.status.code.name == "OK"
            (answers if done else refusals).append((client, answer))
        if not answers:
            if raised:
                _LOG.warning(
                    "the model of round %d is not judged: all clients that evaluated it failed: %s",
                    round_, described(raised[0]),
                )  # fmt: skip
            return None
        with _of_round("aggregate_evaluate", round_):
            judged = self._strategy.aggregate_evaluate(round_, answers, [*refusals, *raised])
            return None if judged is None else _evaluation(judged)

    @override
    def artifacts(self) -> dict[str, bytes]:
        """Return the global model: a list of tensors."""
        import torch

        buffer = io.BytesIO()
        torch.save([torch.from_numpy(np.array(array)) for array in self.arrays], buffer)
        return {MODEL: buffer.getvalue()}


def _of_round(what: str, round_: int) -> AbstractContextManager[None]:
    return users(f"the strategy's {what} in round {round_}")


def _parameters(answer: Any) -> Any:
    """Return Flower's parameters as they are (None: there are none).

    Raises:
        TypeError: it is something else.
    """
    if answer is None or hasattr(answer, "tensors"):
        return answer
    raise TypeError(
        f"it must return Parameters, as ndarrays_to_parameters makes them of arrays, not a "
        f"{type(answer).__name__}"
    )


def _number(metric: Any) -> float:
    """Return a metric that may be anything, or nothing: NaN if it is no number."""
    try:
        return float(metric)
    except (TypeError, ValueError):
        return math.nan


def _evaluation(judged: Any) -> Evaluation | None:
    """Return what a strategy's ``(loss, metrics)`` say (None: it has no loss)."""
    loss, metrics = judged
    if loss is None:
        return None
    accuracy = metrics.get("accuracy")
    return Evaluation(None if accuracy is None else float(accuracy), float(loss))
