"""Aggregation: the next model is made of what arrived, and the round closes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simfl.components.selectors.base import History
from simfl.core.returned import expect
from simfl.core.rows import Outcome
from simfl.sim.coordinator import Aggregated, Arrival, Coordinator, RoundUpdates
from simfl.sim.server.background import Waits
from simfl.sim.server.dispatch import Dispatch
from simfl.sim.server.participation import Participation
from simfl.sim.server.round_end import RoundEnd
from simfl.sim.server.state import RunState


@dataclass(eq=False)
class Aggregation:
    """Makes models.

    Attributes:
        state: of the run.
        coordinator: computes.
        dispatch: settles the orders.
        round_end: closes the round.
        history: what the server remembers of its clients.
        takes_s: how long the server takes for one.
    """

    state: RunState
    coordinator: Coordinator
    dispatch: Dispatch
    round_end: RoundEnd
    history: History
    takes_s: float = field(default=0.0, init=False)
    _free_s: float = field(default=0.0, init=False)

    def restart(self, takes_s: float) -> None:
        """Be free from now on, and take so long for each aggregation."""
        self.takes_s, self._free_s = takes_s, 0.0

    def aggregate(self, arrived: Sequence[Participation], selected: Iterable[int] = ()) -> Waits:
        """Make the next model of what arrived (nothing arrived: keep the model); close the round.

        Args:
            arrived: participations whose updates count, in any order.
            selected: everybody who was asked (those who arrived are added).

        Raises:
            Unexpected: no round is open.
        """
        state = self.state
        open_ = "an open round to aggregate for, which `server.open_round()` begins"
        expect(self.round_end.pending, open_, "none")
        yield from self.take_time(bool(arrived))
        arrived = sorted(arrived, key=lambda part: part.order.key)
        facts, before = Aggregated(), state.version
        if arrived:
            asked = sorted({*selected, *(part.client for part in arrived)})
            facts = self.coordinator.aggregate(self.updates(arrived, asked))
            state.version += facts.made_a_model(len(arrived))
            self.note(facts)
        if not self.settle(arrived, facts, before) and arrived:
            self.dispatch.silence.heard_in_vain()
        self.round_end.close(facts, more=state.time_is_up and self._may_go_on())

    def _may_go_on(self) -> bool:
        """Return whether other updates of this instant, rounding aside, may be aggregated too."""
        at_once = self.takes_s == 0
        return at_once and (self.dispatch.any_arrived() or not self.state.timeline.settled)

    def take_time(self, anything: bool) -> Waits:
        """Take as long as an aggregation takes, if there is `anything` to aggregate."""
        if anything and self.takes_s > 0:
            # One aggregation at a time: it begins when the one before is done.
            self._free_s = max(self._free_s, self.state.timeline.now) + self.takes_s
            yield self.state.timeline.at(self._free_s)

    def updates(self, parts: Sequence[Participation], selected: Sequence[int]) -> RoundUpdates:
        """Return what the coordinator is told of `parts` that have arrived of those `selected`."""
        version = self.state.version
        arrivals = [
            Arrival(p.order, version - p.version, p.copies, p.duration_s, p.tier, p.arrived_s)
            for p in parts
        ]
        return RoundUpdates(self.state.round, selected, arrivals)

    def settle(
        self, parts: Sequence[Participation], facts: Aggregated, version: int
    ) -> list[Participation]:
        """Book `parts` whose updates were looked at, and return those that counted.

        Args:
            parts: in canonical order.
            facts: what became of their updates.
            version: of the global model that their updates met.
        """
        kept = []
        for part in parts:
            outcome = self._outcome(part, facts)
            self.dispatch.book(part, outcome, version - part.version)
            if outcome == "arrived":
                kept.append(part)
        if kept:
            self._remember(kept, facts.losses)
        return kept

    @staticmethod
    def _outcome(part: Participation, facts: Aggregated) -> Outcome:
        if part.order.key in facts.discarded:
            return "discarded"
        return "filtered" if part.order.key in facts.filtered else "arrived"

    def note(self, facts: Aggregated, edge: int | None = None) -> None:
        """Note an aggregation: that of an `edge`, or (None) the one that ends the round."""
        told: dict[str, Any] = {
            "losses": {str(client): loss for client, loss in facts.losses.items()},
            "discarded": [list(key) for key in sorted(facts.discarded)],
        }
        if facts.filtered:  # that a filter of the server's threw updates away stands only there
            told["filtered"] = [list(key) for key in sorted(facts.filtered)]
        told["gemd"] = facts.gemd
        if edge is None:
            version = self.state.version
            self.state.note("aggregated", round=self.state.round, version=version, **told)
        else:
            self.state.note("edge_aggregated", round=self.state.round, edge=edge, **told)

    def _remember(self, parts: Sequence[Participation], losses: Mapping[int, float]) -> None:
        history, clients = self.history, [part.client for part in parts]
        np.add.at(history.participations, clients, 1)  # the same client may be there twice
        history.last_round[clients] = self.state.round
        history.duration_s[clients] = [part.duration_s for part in parts]
        for client in clients:
            if math.isfinite(loss := losses.get(client, math.nan)):
                history.loss[client] = loss
