"""Flower's interface of ``flwr.server`` and ``flwr.client``: clients have methods such as `fit`."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.coordinators.flower.clients import FlowerClients, manager, proxy
from simfl.coordinators.flower.interface import Failed, FlowerInterface, Trained
from simfl.coordinators.flower.users import asking, flower, number, share, users
from simfl.core.evaluation import Evaluation
from simfl.errors import InputError, RunError


class ByMethods(FlowerInterface):
    """A `flwr.server.strategy.Strategy` and clients with methods.

    Args:
        strategy: fresh.
        clients: train.
        count: how many clients there are.

    Raises:
        ComponentError: the strategy or client 0 raises, or returns what training can't begin with.
        InputError: neither of them says what it begins with.
    """

    def __init__(self, strategy: Any, clients: FlowerClients, count: int) -> None:
        self._strategy = strategy
        self._clients = clients
        self._proxies = {number: proxy(number, clients) for number in range(count)}
        self._manager = manager(self._proxies)
        self._parameters = self._initial()

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
    @override
    def model(self) -> Sequence[Any]:
        return list(flower("common").parameters_to_ndarrays(self._parameters))

    @property
    @override
    def payload(self) -> int:
        return _payload(self._parameters)

    @override
    def choose(
        self, round_: int, available: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        self._offer(available, rng)
        with asking("configure_fit", round_):
            pairs = self._strategy.configure_fit(round_, self._parameters, self._manager)
            return [(int(client.cid), instructions) for client, instructions in pairs]

    def _offer(self, clients: Sequence[int], rng: np.random.Generator) -> None:
        self._manager.offered = {client: self._proxies[client] for client in clients}
        self._manager.rng = rng

    @override
    def train(self, client: int, instructions: Any) -> Trained:
        fitted = self._clients(client).fit(deepcopy(instructions))
        if fitted.status.code.name != "OK":
            raise RunError(f"client {client}: {fitted.status.message}")
        return Trained(fitted, number(fitted.metrics.get("loss")), _payload(fitted.parameters))

    @override
    def adopt(
        self, round_: int, answers: Sequence[tuple[int, Any]], failures: Mapping[int, Failed]
    ) -> None:
        pairs = [(self._proxies[client], answer) for client, answer in answers]
        errors = [failed.why for failed in failures.values()]
        with asking("aggregate_fit", round_):
            parameters, _ = self._strategy.aggregate_fit(round_, pairs, errors)
            self._parameters = _parameters(parameters) or self._parameters

    @override
    def judge_centrally(self, round_: int) -> Evaluation | None:
        with asking("evaluate", round_):
            judged = self._strategy.evaluate(round_, self._parameters)
            return None if judged is None else _evaluation(judged)

    @override
    def choose_judges(
        self, round_: int, clients: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        self._offer(clients, rng)
        with asking("configure_evaluate", round_):
            asked = self._strategy.configure_evaluate(round_, self._parameters, self._manager)
            return [(int(client.cid), instructions) for client, instructions in asked]

    @override
    def judge(self, client: int, instructions: Any) -> tuple[Any, bool]:
        answer = self._clients(client).evaluate(deepcopy(instructions))
        return answer, answer.status.code.name == "OK"

    @override
    def sum_up(
        self, round_: int, judged: Sequence[tuple[int, Any]], failures: Sequence[Failed]
    ) -> Evaluation | None:
        pairs = [(self._proxies[client], answer) for client, answer in judged]
        errors = [failed.why for failed in failures]
        with asking("aggregate_evaluate", round_):
            summed = self._strategy.aggregate_evaluate(round_, pairs, errors)
            return None if summed is None else _evaluation(summed)


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


def _payload(parameters: Any) -> int:
    """Return how many bytes Flower's parameters take."""
    return sum(len(tensor) for tensor in parameters.tensors)


def _evaluation(judged: Any) -> Evaluation | None:
    """Return what a strategy's ``(loss, metrics)`` say (None: it has no loss)."""
    loss, metrics = judged
    if loss is None:
        return None
    return Evaluation(share(metrics.get("accuracy")), float(loss))
