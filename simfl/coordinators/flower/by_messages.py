"""Flower's interface of ``flwr.serverapp`` and ``flwr.clientapp``: they send messages."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.coordinators.flower.grid import AppClients, error_reply, grid, payload
from simfl.coordinators.flower.interface import Failed, FlowerInterface, Trained
from simfl.coordinators.flower.users import asking, flower, number, share, users
from simfl.core.evaluation import Evaluation
from simfl.errors import InputError


@dataclass(frozen=True)
class Start:
    """What a strategy of messages is started with, as its own `start` is.

    Attributes:
        initial_arrays: an `ArrayRecord`, the model to begin with (None: not given).
        train_config: what clients are told for training.
        evaluate_config: and for evaluation.
        evaluate_fn: ``evaluate_fn(round, arrays)`` judges a model at the server (None: nothing).
    """

    initial_arrays: Any = None
    train_config: Mapping[str, Any] | None = None
    evaluate_config: Mapping[str, Any] | None = None
    evaluate_fn: Any = None


class ByMessages(FlowerInterface):
    """A `flwr.serverapp.strategy.Strategy` and a `ClientApp`.

    Args:
        strategy: fresh.
        clients: reply to messages.
        start: what the strategy is started with.

    Raises:
        InputError: it has no arrays to begin with, or what clients are told is no config.
    """

    def __init__(self, strategy: Any, clients: AppClients, start: Start) -> None:
        app = flower("app")
        if not isinstance(start.initial_arrays, app.ArrayRecord):
            kind = type(start.initial_arrays).__name__
            got = "" if start.initial_arrays is None else f", not a {kind}"
            raise InputError(
                "the strategy needs `initial_arrays` to begin with, an ArrayRecord such as "
                f"ArrayRecord(model.state_dict()), as its own `start` does{got}"
            )
        self._strategy = strategy
        self._clients = clients
        self._grid = grid(clients)
        self._arrays = start.initial_arrays
        self._train_config = _config("train_config", start.train_config)
        self._evaluate_config = _config("evaluate_config", start.evaluate_config)
        self._evaluate = start.evaluate_fn

    @property
    @override
    def model(self) -> Mapping[str, Any]:
        return {name: _numbers(array) for name, array in self._arrays.items()}

    @property
    @override
    def payload(self) -> int:
        return sum(len(array.data) for array in self._arrays.values())

    @override
    def choose(
        self, round_: int, available: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        self._grid.offer(available)
        with asking("configure_train", round_):
            return _sent(
                self._strategy.configure_train(round_, self._arrays, self._train_config, self._grid)
            )

    @override
    def train(self, client: int, instructions: Any) -> Trained:
        reply = self._clients(instructions)
        loss = number(_measure(_metrics(reply.content), "train_loss", "loss"))
        return Trained(reply, loss, payload(reply.content))

    @override
    def adopt(
        self, round_: int, answers: Sequence[tuple[int, Any]], failures: Mapping[int, Failed]
    ) -> None:
        replies = [reply for _, reply in answers]
        with asking("aggregate_train", round_):
            arrays, _ = self._strategy.aggregate_train(
                round_, [*replies, *_error_replies(failures.values())]
            )
            if arrays is not None:
                if not isinstance(arrays, flower("app").ArrayRecord):
                    raise TypeError(f"it must return an ArrayRecord, not a {type(arrays).__name__}")
                self._arrays = arrays

    @override
    def judge_centrally(self, round_: int) -> Evaluation | None:
        if self._evaluate is None:
            return None
        with users(f"evaluate_fn in round {round_}"):
            return _evaluation(self._evaluate(round_, self._arrays))

    @override
    def choose_judges(
        self, round_: int, clients: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        self._grid.offer(clients)
        with asking("configure_evaluate", round_):
            return _sent(
                self._strategy.configure_evaluate(
                    round_, self._arrays, self._evaluate_config, self._grid
                )
            )

    @override
    def judge(self, client: int, instructions: Any) -> tuple[Any, bool]:
        return self._clients(instructions), True

    @override
    def sum_up(
        self, round_: int, judged: Sequence[tuple[int, Any]], failures: Sequence[Failed]
    ) -> Evaluation | None:
        replies = [reply for _, reply in judged]
        with asking("aggregate_evaluate", round_):
            return _evaluation(
                self._strategy.aggregate_evaluate(round_, [*replies, *_error_replies(failures)])
            )


def _config(name: str, told: Mapping[str, Any] | None) -> Any:
    """Return what clients are told as a `ConfigRecord`."""
    try:
        return flower("app").ConfigRecord(dict(told or {}))
    except (TypeError, ValueError) as error:
        raise InputError(f"`{name}` is no config of Flower's: {error}") from error


def _numbers(array: Any) -> Any:
    """Return an `Array` as one of NumPy's: its bytes, if another library serialised it."""
    if array.stype == "numpy.ndarray":
        return array.numpy()
    return np.frombuffer(array.data, dtype=np.uint8)


def _sent(messages: Iterable[Any]) -> list[tuple[int, Any]]:
    """Return messages by their clients, as they are now: strategies change what they sent."""
    return [(message.metadata.dst_node_id, deepcopy(message)) for message in messages]


def _error_replies(failures: Iterable[Failed]) -> list[Any]:
    """Return what the server receives of those who failed: nothing of who did not arrive."""
    return [error_reply(f.instructions, f.why) for f in failures if f.instructions is not None]


def _metrics(content: Any) -> dict[str, Any]:
    """Return all metrics of a reply, by name."""
    kind = flower("app").MetricRecord
    records = [record for record in content.values() if isinstance(record, kind)]
    return {name: value for record in records for name, value in record.items()}


def _measure(metrics: Mapping[str, Any], *names: str) -> Any:
    """Return the metric of one of these names, or else the only one that ends so, or None."""
    for name in names:
        if name in metrics:
            return metrics[name]
    ending = [value for name, value in metrics.items() if name.endswith(names)]
    return ending[0] if len(ending) == 1 else None


def _evaluation(metrics: Any) -> Evaluation | None:
    """Return what a `MetricRecord` says (None: there is none, or neither measure in it)."""
    if metrics is None:
        return None
    if not isinstance(metrics, Mapping):
        raise TypeError(f"it must return a MetricRecord, not a {type(metrics).__name__}")
    accuracy, loss = _measure(metrics, "accuracy", "acc"), _measure(metrics, "loss")
    if accuracy is None and loss is None:
        return None
    return Evaluation(share(accuracy), number(loss))
