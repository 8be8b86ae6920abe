"""What of the model each client keeps to itself, and how it trains, and answers, with that.

A client's personal parameters are those of its last training that was computed: what never arrives
is never trained, and leaves them as they were.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simfl.core.types import Floats, Params
from simfl.core.work import MiniBatch, OrderBatch, WorkOrder, WorkResult
from simfl.training.executors.sums import is_sound, models_at_once

if TYPE_CHECKING:
    from simfl.components.selectors.base import Report
    from simfl.training.personal import PersonalPart

Train = Callable[[OrderBatch], Sequence[WorkResult]]
"""Returns the results of a batch's orders, in their order."""
Measure = Callable[["Report", Params, Sequence[int], MiniBatch | None, int], Floats]
"""See `Executor.measure`."""


class PersonalParameters:
    """The personal parameters of all clients; who has never trained has the initial ones.

    Args:
        part: which of the model's parameters are personal.
    """

    def __init__(self, part: "PersonalPart") -> None:
        self.part = part
        self._own: dict[int, Params] = {}
        self._bases = 0

    @property
    def own(self) -> Mapping[int, Params]:
        """By client who has trained, `(q,)` its personal parameters."""
        return self._own

    def model_of(self, client: int, shared: Params) -> Params:
        """Return `(p + q,)` the model of `client`, whose `shared` parameters `(p,)` are these."""
        return self.part.joined(shared, self._own.get(client, self.part.initial))

    def train(self, train: Train, batch: OrderBatch, side_by_side: int = 1) -> list[WorkResult]:
        """Return the results of the batch's orders, of shared parameters `(p,)` as its bases are.

        Who has several orders goes on from one to the next.  Whoever is trained has changed its
        personal parameters then, unless it diverged, or it was to answer a selector's question.

        Args:
            train: has whole models `(p + q,)` trained.
            batch: what to train.
            side_by_side: how many orders are computed at the same time.
        """
        results: dict[int, WorkResult] = {}
        for places in _by_turns(batch.orders):
            most = models_at_once(4 * len(self.part.places), side_by_side)
            for first in range(0, len(places), most):
                part = places[first : first + most]
                trained = train(self._whole(batch.part(part)))
                for place, result in zip(part, trained, strict=True):
                    results[place] = self._parted(result, batch.orders[place])
        return [results[place] for place in range(len(batch.orders))]

    def measure(
        self,
        measure: Measure,
        report: "Report",
        shared: Params,
        clients: Sequence[int],
        batch: MiniBatch | None,
        round_: int,
    ) -> Floats:
        """Return `(m,)` or `(m, d)` what `clients`, one at least, report of models of their own.

        Args:
            measure: does so of one model.
            report: what is asked; of gradients, those of shared parameters.
            shared: `(p,)`.
            clients: who.
            batch: see `Executor.measure`.
            round_: in which round.
        """
        values = np.concatenate(
            [
                measure(report, self.model_of(client, shared), [client], batch, round_)
                for client in clients
            ]
        )
        return values[:, ~self.part.places] if report == "gradient" else values

    def dump(self) -> bytes:
        """Return a file with what every client that has trained has of its own."""
        from simfl.training.personal_file import personal_file

        return personal_file(self.part, self._own)

    def state_dict(self) -> dict[int, Params]:
        """Return everything that a checkpoint must keep."""
        return dict(self._own)

    def load_state_dict(self, state: Mapping[Any, Params]) -> None:
        """Restore what `state_dict` returned."""
        self._own = dict(state)

    def _whole(self, batch: OrderBatch) -> OrderBatch:
        """Return `batch` with a base of its own, `(p + q,)`, for each of its orders.

        Executors know a base again by its number: none is ever there twice.
        """
        bases, orders = dict[int, Params](), list[WorkOrder]()
        for order in batch.orders:
            self._bases += 1
            bases[self._bases] = self.model_of(order.client, batch.bases[order.base])
            orders.append(replace(order, base=self._bases))
        corrections = None
        if batch.corrections is not None:
            corrections = {
                key: self.part.joined(vector, 0.0) for key, vector in batch.corrections.items()
            }
        return OrderBatch(bases, orders, corrections)

    def _parted(self, result: WorkResult, order: WorkOrder) -> WorkResult:
        """Return `result` of the shared parameters; take over the personal ones."""
        sent, personal = self.part.parted(replace(result, order=order))
        if is_sound(sent) and not order.for_probe:
            self._own[order.client] = personal
        return sent


def _by_turns(orders: Sequence[WorkOrder]) -> Iterator[list[int]]:
    """Yield places of orders, of each client one at a time, in the order of their issue."""
    left = sorted(range(len(orders)), key=lambda place: orders[place].key)
    while left:
        seen, turn, rest = set[int](), list[int](), list[int]()
        for place in left:
            (rest if orders[place].client in seen else turn).append(place)
            seen.add(orders[place].client)
        yield turn
        left = rest
