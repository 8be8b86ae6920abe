"""Aggregation: the next model is made of what arrived, and the round closes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simfl.components.selectors.base import History
from simfl.core.returned import expect
from simfl.core.rows import Outcome
from simfl.sim.coordinator import Aggregated, Arrival, Coordinator
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
        if arrived and self.takes_s > 0:
            # One aggregation at a time: it begins when the one before is done.
            self._free_s = max(self._free_s, state.timeline.now) + self.takes_s
            yield state.timeline.at(self._free_s)
        arrived = sorted(arrived, key=lambda part: part.order.key)
        arrivals = [
            Arrival(
                p.order,
                state.version - p.order.base,
                p.copies,
                p.duration_s,
                p.tier,
                p.errand.ended_s or 0.0,
            )
            for p in arrived
        ]
        facts = Aggregated()
        if arrivals:
            asked = sorted({*selected, *(part.client for part in arrived)})
            facts = self.coordinator.aggregate(state.round, asked, arrivals)
            state.version += len(arrivals) > len(set(facts.discarded))
            self._note(facts)
        kept = []
        for part, arrival in zip(arrived, arrivals, strict=True):
            outcome = self._outcome(part, facts)
            self.dispatch.book(part, outcome, arrival.staleness)
            if outcome == "arrived":
                kept.append(part)
        if kept:
            self._remember(kept, facts.losses)
        more = self.state.time_is_up and self.takes_s == 0 and self.dispatch.any_arrived()
        self.round_end.close(facts, more)

    @staticmethod
    def _outcome(part: Participation, facts: Aggregated) -> Outcome:
        if part.order.key in facts.discarded:
            return "discarded"
        return "filtered" if part.order.key in facts.filtered else "arrived"

    def _note(self, facts: Aggregated) -> None:
        # That a filter of the server's threw updates away stands there only where one did.
        filtered = [list(key) for key in sorted(facts.filtered)]
        self.state.note(
            "aggregated",
            round=self.state.round,
            version=self.state.version,
            losses={str(client): loss for client, loss in facts.losses.items()},
            discarded=[list(key) for key in sorted(facts.discarded)],
            **({"filtered": filtered} if filtered else {}),
            gemd=facts.gemd,
        )

    def _remember(self, parts: Sequence[Participation], losses: Mapping[int, float]) -> None:
        history, clients = self.history, [part.client for part in parts]
        np.add.at(history.participations, clients, 1)  # the same client may be there twice
        history.last_round[clients] = self.state.round
        history.duration_s[clients] = [part.duration_s for part in parts]
        for client in clients:
            if math.isfinite(loss := losses.get(client, math.nan)):
                history.loss[client] = loss
