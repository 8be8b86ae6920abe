"""What the coordinator asks of either of Flower's interfaces."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simfl.core.evaluation import Evaluation


class Trained(NamedTuple):
    """What a client's training came to.

    Attributes:
        answer: what it sends, as the strategy wants it.
        loss: of its training (NaN: it tells none).
        payload: bytes of the arrays that it sends.
    """

    answer: Any
    loss: float
    payload: int


class Failed(NamedTuple):
    """A client that was asked and has no part in what the strategy makes of the answers.

    Attributes:
        instructions: that it was given (None: it did not arrive).
        why: what it raised, that it did not arrive, or an answer that is none.
    """

    instructions: Any
    why: Any


class FlowerInterface(ABC):
    """A user's strategy, its global model, and how it and its clients are asked.

    Instructions are whatever the strategy has for one client in one round.  All methods may raise
    what users' code raises.
    """

    @property
    @abstractmethod
    def model(self) -> Mapping[str, Any] | Sequence[Any]:
        """The present global model: NumPy arrays, by name or in a row."""

    @property
    @abstractmethod
    def payload(self) -> int:
        """Bytes of the present global model, as it is sent."""

    @abstractmethod
    def choose(
        self, round_: int, available: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        """Return whom of `available` the strategy has train in a round, with instructions."""

    @abstractmethod
    def train(self, client: int, instructions: Any) -> Trained:
        """Let a client train."""

    @abstractmethod
    def adopt(
        self, round_: int, answers: Sequence[tuple[int, Any]], failures: Mapping[int, Failed]
    ) -> None:
        """Let the strategy make the next global model of clients' answers."""

    @abstractmethod
    def judge_centrally(self, round_: int) -> Evaluation | None:
        """Judge the global model at the server (None: the strategy does not)."""

    @abstractmethod
    def choose_judges(
        self, round_: int, clients: Sequence[int], rng: np.random.Generator
    ) -> list[tuple[int, Any]]:
        """Return whom of `clients` the strategy has judge the global model, with instructions."""

    @abstractmethod
    def judge(self, client: int, instructions: Any) -> tuple[Any, bool]:
        """Return a client's judgement as the strategy wants it, and whether it is one at all."""

    @abstractmethod
    def sum_up(
        self, round_: int, judged: Sequence[tuple[int, Any]], failures: Sequence[Failed]
    ) -> Evaluation | None:
        """Return what the strategy makes of clients' judgements, of which there is at least one."""
