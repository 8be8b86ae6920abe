"""What virtual time may ask of the world of tensors: decisions and facts, as plain data.

The simulation answers with real training; time-only runs answer without; a resumed run answers from
its own event log (replay) until it reaches its last checkpoint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from simfl.components.selectors.base import Probe, Reports, View
from simfl.core.evaluation import Evaluation
from simfl.core.types import OrderKey
from simfl.core.work import WorkOrder


class Arrival(NamedTuple):
    """One update that counts.

    Attributes:
        order: what was trained.
        staleness: server updates since the order was issued.
        copies: how often the client was drawn.
        duration_s: from selection to arrival.
        tier: which tier its client was asked by, where there are several.
        arrived_s: when it arrived.
    """

    order: WorkOrder
    staleness: int
    copies: int
    duration_s: float
    tier: int = 0
    arrived_s: float = 0.0


@dataclass(frozen=True)
class RoundUpdates:
    """What one aggregation is made of, at the server or at an edge.

    Attributes:
        round: which.
        selected: who was asked, those who arrived among them: distinct ids, ascending.
        arrivals: the updates that came in time, in canonical order (`WorkOrder.key`).
    """

    round: int
    selected: Sequence[int]
    arrivals: Sequence[Arrival]

    @property
    def orders(self) -> list[WorkOrder]:
        """What was trained, in canonical order."""
        return [arrival.order for arrival in self.arrivals]


class EdgeModel(NamedTuple):
    """An edge server's model, as the cloud gets it.

    Attributes:
        version: which, below zero.
        samples: that the edge's clients hold.
    """

    version: int
    samples: int


@dataclass(frozen=True)
class Aggregated:
    """Facts about one aggregation.

    Attributes:
        losses: per client whose update counted, its mean training loss (the last, if several).
        discarded: keys `(client, issue)` of the orders whose update was not finite.
        filtered: keys of the orders whose update the server's filter threw away.
        gemd: group earth-mover distance of the clients whose updates counted, if known.
    """

    losses: Mapping[int, float] = field(default_factory=dict)
    discarded: Sequence[OrderKey] = ()
    filtered: Sequence[OrderKey] = ()
    gemd: float | None = None

    def made_a_model(self, updates: int) -> bool:
        """Return whether a model was made of so many `updates`: one at least was finite."""
        return updates > len(set(self.discarded))


class Coordinator(Protocol):
    """The door as the server's process sees it."""

    @property
    def chooser(self) -> str:
        """What messages call whoever chooses the clients."""
        return "the selector"

    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        """Return what must be asked before choosing, given the answers so far."""

    def answer(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        """Return what clients report.

        Args:
            probe: what they were asked.
            took_s: how long each took who could answer, ascending.
            view: of the selection that asked.
        """

    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        """Return the clients to ask, repeats allowed."""

    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        """Make the next model of the updates that arrived."""

    def aggregate_at_edge(self, updates: RoundUpdates, base: int, made: int) -> Aggregated:
        """Make an edge's next model of the updates that arrived there; the global one stays.

        Args:
            updates: of the edge.
            base: version that the edge had, which all of them start from.
            made: version of the one that it then has, below zero; of updates none of which is
                finite none is made.
        """

    def merge(self, round_: int, edges: Sequence[EdgeModel], clients: Sequence[int]) -> Aggregated:
        """Make the next global model of those of edges (none: it stays), which are then forgotten.

        Args:
            round_: which.
            edges: at one of which at least an update was finite.
            clients: whose updates counted at any of them; only their GEMD is told.
        """

    def keeps(self, order: WorkOrder) -> bool:
        """Return whether the client's update filter finds its update worth an upload."""

    def evaluate(self, round_: int) -> Evaluation | None:
        """Return the quality of the present model, or None where nothing is trained."""

    def issue(self, order: WorkOrder) -> WorkOrder:
        """Record that a device was given `order`."""

    def amend(self, order: WorkOrder) -> WorkOrder:
        """Replace the open order of the same client by a shorter one."""

    def drop(self, order: WorkOrder) -> None:
        """Record that the result of `order` will never arrive."""
