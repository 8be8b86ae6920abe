"""The coordinator of a run whose model and training are Flower's.

Who is asked is the strategy's choice among those whom virtual time has available; how long each
takes, and who comes in time, is the fleet's; what is learned is Flower's.  Configuring, aggregating
and evaluating take no virtual time, as elsewhere in simfl.
"""

import io
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.components.datasets.seeded_libraries import seeded_libraries
from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import MODEL, BaseCoordinator, Choosing
from simfl.coordinators.flower.interface import Failed, FlowerInterface
from simfl.coordinators.flower.users import described
from simfl.core.evaluation import Evaluation
from simfl.core.types import OrderKey
from simfl.core.words import numbered
from simfl.core.work import WorkOrder, WorkResult
from simfl.errors import ComponentError, RunError
from simfl.sim.coordinator import Aggregated, RoundUpdates

_LOG = logging.getLogger(__name__)


class FlowerCoordinator(BaseCoordinator):
    """A coordinator whose decisions are those of a Flower strategy.

    Args:
        choosing: whose seeds and label counts are used; its selector is not asked.
        asked: the strategy and its clients.
        count: how many clients there are.
        refills: whether only so many clients are there for the strategy as are to be at work.
    """

    def __init__(
        self, choosing: Choosing, asked: FlowerInterface, count: int, refills: bool
    ) -> None:
        super().__init__(self._train, choosing)
        self._asked = asked
        self._refills = refills
        self._timed = asked.payload  # bytes that every upload is taken for
        self._told = False
        self._trained = False
        self._judges = range(count)
        self._chosen: dict[int, Any] = {}  # instructions by client, of the last selection
        self._given: dict[OrderKey, Any] = {}
        self._answers: dict[OrderKey, Any] = {}
        self._failed: dict[int, Failed] = {}  # by client

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
        rng = self._seeds.stream("selection", view.round, view.turn)
        there = view.draw(k, rng) if self._refills else view.available
        with self._seeded("selection", view.round, view.turn):
            pairs = self._asked.choose(view.round, there.tolist(), rng)
        for client, often in Counter(client for client, _ in pairs).items():
            if client not in self._judges or often > 1:
                raise ComponentError(
                    f"{self.chooser}, choosing clients in round {view.round}: it has "
                    f"{numbered(often, 'task')} for client {client}; there are clients 0 to "
                    f"{view.clients - 1}, and each trains once in a round"
                )
        self._chosen = dict(pairs)
        return [client for client, _ in pairs]

    @override
    def issue(self, order: WorkOrder) -> WorkOrder:
        self._given[order.key] = self._chosen[order.client]
        return super().issue(order)

    @override
    def drop(self, order: WorkOrder) -> None:
        del self._given[order.key]
        super().drop(order)

    def _train(self, orders: Sequence[WorkOrder]) -> list[WorkResult]:
        """Let the user's clients train, one after the other; what they raise is a failure."""
        results = []
        for order in orders:
            instructions = self._given.pop(order.key)
            try:
                with seeded_libraries(order.seed % 2**32):
                    trained = self._asked.train(order.client, instructions)
            except Exception as error:
                self._failed[order.client] = Failed(instructions, error)
                continue
            self._answers[order.key] = trained.answer
            self._trained = True
            self._tell_of_bytes(f"client {order.client}", trained.payload)
            none = np.zeros(0, dtype=np.float32)
            results.append(WorkResult(order, none, trained.loss, 1, 0))
        return results

    def _tell_of_bytes(self, who: str, payload: int) -> None:
        if payload != self._timed and not self._told:
            self._told = True
            _LOG.warning(
                "%s sends %s bytes of arrays; virtual time takes each upload and download "
                "for the %s of the initial model",
                who, f"{payload:,}", f"{self._timed:,}",
            )  # fmt: skip

    @override
    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        """Who was asked and did not arrive is a failure to the strategy, as in Flower."""
        results = self.ledger.collect(updates.orders)
        done = [result.order for result in results]
        answered = {order.client for order in done}
        raised, self._failed = self._failed, {}
        failures = {
            client: raised.get(client)
            or Failed(None, TimeoutError(f"client {client} did not arrive"))
            for client in sorted({*updates.selected, *raised} - answered)
        }
        if raised and not self._trained:
            first = described(raised[min(raised)].why)
            raise ComponentError(f"all clients of round {updates.round} failed: {first}")
        answers = [(order.client, self._answers.pop(order.key)) for order in done]
        with self._seeded("aggregation", updates.round):
            self._asked.adopt(updates.round, answers, failures)
        self._tell_of_bytes("the strategy", self._asked.payload)
        return Aggregated(
            losses={r.order.client: r.loss for r in results},
            discarded=[order.key for order in updates.orders if order not in done],
            gemd=self.gemd([order.client for order in done]),
        )

    def _seeded(self, purpose: str, *address: int) -> AbstractContextManager[None]:
        """Let users' code draw from the global state of libraries by the run's seed."""
        return seeded_libraries(self._seeds.number(purpose, "libraries", *address) % 2**32)

    @override
    def evaluate(self, round_: int) -> Evaluation | None:
        """Judge by the strategy, centrally or on the clients that it chooses.

        Before round 1, only centrally, as Flower's server does.
        """
        with self._seeded("evaluation", round_):
            centrally = self._asked.judge_centrally(round_)
            return centrally if centrally or not round_ else self._judged_by_clients(round_)

    def _judged_by_clients(self, round_: int) -> Evaluation | None:
        """Return what the strategy makes of its clients' evaluations (None: none evaluated)."""
        rng = self._seeds.stream("evaluation", round_)
        judged: list[tuple[int, Any]] = []
        failures: list[Failed] = []
        for client, instructions in self._asked.choose_judges(round_, self._judges, rng):
            try:
                answer, is_one = self._asked.judge(client, instructions)
            except Exception as error:
                answer, is_one = error, False
            if is_one:
                judged.append((client, answer))
            else:
                failures.append(Failed(instructions, answer))
        if judged:
            return self._asked.sum_up(round_, judged, failures)
        for failed in failures:  # the others can't evaluate, as Flower's own answer for them says
            if isinstance(failed.why, Exception):
                _LOG.warning(
                    "the model of round %d is not judged: all clients that evaluated it failed: %s",
                    round_, described(failed.why),
                )  # fmt: skip
                break
        return None

    @override
    def artifacts(self) -> dict[str, bytes]:
        """Return the global model: a list of tensors, or a state dict if they have names."""
        import torch

        model = self._asked.model
        if isinstance(model, Mapping):
            stored: Any = {name: torch.from_numpy(np.array(a)) for name, a in model.items()}
        else:
            stored = [torch.from_numpy(np.array(array)) for array in model]
        buffer = io.BytesIO()
        torch.save(stored, buffer)
        return {MODEL: buffer.getvalue()}
