"""Edge servers: between two aggregations at the cloud each has a model of its own.

Which clients are whose, and when whose model travels, the round policy says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from simfl.sim.coordinator import Aggregated, Coordinator, EdgeModel
from simfl.sim.networks.base import Direction
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.aggregation import Aggregation
from simfl.sim.server.background import Waits
from simfl.sim.server.participation import Participation
from simfl.sim.server.state import RunState


@dataclass(eq=False)
class Edges:
    """What edge servers have and send.

    Attributes:
        state: of the run.
        coordinator: computes.
        aggregation: settles the orders, and closes the round.
        accounting: books what the backhaul moves.
    """

    state: RunState
    coordinator: Coordinator
    aggregation: Aggregation
    accounting: Accounting
    _models: dict[int, int] = field(default_factory=dict, init=False)
    _facts: list[Aggregated] = field(default_factory=list, init=False)
    _counted: list[int] = field(default_factory=list, init=False)
    _made: int = field(default=0, init=False)

    def begin(self) -> None:
        """Have every edge begin a round of the cloud's with the global model."""
        self._models, self._facts, self._counted = {}, [], []

    def version(self, edge: int) -> int:
        """Return the version of an edge's model: the global one's, or its own, below zero."""
        return self._models.get(edge, self.state.version)

    def carried(self, edge: int, direction: Direction) -> None:
        """Book that a model has come over the backhaul: down to an edge, or up to the cloud."""
        size = self.state.settings.prices.model_bytes
        self.state.note(
            "backhaul", round=self.state.round, edge=edge, direction=direction, bytes=size
        )
        self.accounting.book_backhaul(direction, size)

    def aggregate(
        self, edge: int, arrived: Sequence[Participation], selected: Mapping[int, int]
    ) -> None:
        """Make an edge's next model of what arrived (nothing arrived: it stays).

        Args:
            edge: which.
            arrived: participations whose updates count, in any order.
            selected: everybody whom the edge asked.
        """
        if not arrived:
            return
        parts = sorted(arrived, key=lambda part: part.order.key)
        self._made += 1
        updates = self.aggregation.updates(parts, sorted(selected))
        facts = self.coordinator.aggregate_at_edge(updates, self.version(edge), -self._made)
        if facts.made_a_model(len(parts)):
            self._models[edge] = -self._made
        self.aggregation.note(facts, edge)
        kept = self.aggregation.settle(parts, facts, self.state.version)
        self._counted += [part.client for part in kept]
        self._facts.append(facts)

    def merge(self, samples: Mapping[int, int]) -> Waits:
        """Make the next global model of those of edges that have one of their own; close the round.

        Args:
            samples: that each edge's clients hold.
        """
        models = [EdgeModel(own, samples[edge]) for edge, own in sorted(self._models.items())]
        yield from self.aggregation.take_time(bool(self._facts))
        facts = Aggregated()
        if self._facts:
            counted = sorted(set(self._counted))
            facts = self.coordinator.merge(self.state.round, models, counted)
            facts = _together(self._facts, facts)
            self.state.version += bool(models)
            if not counted:
                self.aggregation.dispatch.silence.heard_in_vain()
            self.aggregation.note(facts)
        self.aggregation.round_end.close(facts)


def _together(facts: Sequence[Aggregated], of_all: Aggregated) -> Aggregated:
    """Return what became of the updates at several edges; `of_all` tells the GEMD of them all."""
    losses = {client: loss for edge in facts for client, loss in edge.losses.items()}
    return replace(
        of_all,
        losses=dict(sorted(losses.items())),
        discarded=[key for edge in facts for key in edge.discarded],
        filtered=[key for edge in facts for key in edge.filtered],
    )
