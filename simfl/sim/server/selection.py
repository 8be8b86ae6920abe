"""Choosing clients: what the selector asks is asked, and takes its time, before it chooses."""

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import simpy
from numpy.typing import NDArray

from simfl.components.selectors.base import History, Reports, View
from simfl.core.readonly import read_only
from simfl.core.types import Ids
from simfl.errors import ComponentError
from simfl.sim.coordinator import Coordinator
from simfl.sim.server.accounting import Accounting
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.probing import Probing
from simfl.sim.server.silence import Silence
from simfl.sim.server.state import RunState
from simfl.sim.server.waiting import Waiting

MOST = 1000
"""Questions of one selection: whoever has more will never have enough."""


@dataclass(eq=False)
class Selection:
    """The server's dealings with its selector.

    Attributes:
        state: of the run.
        coordinator: asks the selector.
        candidates: who is there.
        waiting: waits for them.
        probing: asks them.
        accounting: records who was chosen.
        history: what the server remembers of its clients, as the selector may look at it.
        silence: ends a run in which everybody leaves whenever they are asked.
        truth: what no server can know, only there for selectors marked as oracles.
        under_way: selections under way (they may take time, for probes).
    """

    state: RunState
    coordinator: Coordinator
    candidates: Candidates
    waiting: Waiting
    probing: Probing
    accounting: Accounting
    history: History
    silence: Silence
    truth: Mapping[str, NDArray[Any]] | None = field(default=None, init=False)
    under_way: int = field(default=0, init=False)
    _turn: int = field(default=0, init=False)

    def restart(self) -> None:
        """Count the selections of a new round."""
        self._turn = 0

    def select(
        self,
        k: int,
        among: Ids | None = None,
        tier: int | None = None,
        edge: int | None = None,
    ) -> Generator[simpy.Event, Any, Counter[int]]:
        """Ask what the selector needs to know, then return whom it chose and how often.

        Nobody is chosen only if the run is finished, or none of an edge's clients will come again.
        Once time is up it waits for the end.

        Args:
            k: how many are wanted.
            among: `(m,)` candidates, ascending (None: everybody).
            tier: which chooses, where there are several.
            edge: the edge server that does.
        """
        self.under_way += 1
        try:
            while True:
                chosen = yield from self._choose(k, among, tier, edge)
                if not chosen:  # everybody left while being asked
                    self.silence.over(heard=False)
                    if edge is not None and not self.waiting.ever(among):
                        return chosen
                    yield from self.waiting.until_somebody(lambda: among)
                if chosen or self.state.finished:
                    return chosen
        finally:
            self.under_way -= 1

    def _choose(
        self, k: int, among: Ids | None, tier: int | None, edge: int | None
    ) -> Generator[simpy.Event, Any, Counter[int]]:
        """Select once; nobody is chosen if all have left meanwhile; arguments as of `select`."""
        # Rounds may end while questions are out; the selection remains that of its own.
        round_, turn = self.state.round, self._turn
        self._turn += 1
        part = next((number for number in (tier, edge) if number is not None), 0)
        view = self._view(k, among, round_, turn, part)
        reports: tuple[Reports, ...] = ()
        while (probe := self.coordinator.next_probe(view, reports)) is not None:
            took_s = yield from self.probing.ask(probe, view)
            reports += (self.coordinator.answer(probe, took_s, view),)
            if len(reports) >= MOST:
                raise ComponentError(
                    f"{self.coordinator.chooser} asked {MOST:,} questions in one selection, in "
                    f"round {round_}; `probe` returns None when it has asked enough (`reports` has "
                    "the answers so far)"
                )
            view = self._view(k, among, round_, turn, part)
            if not self.waiting.anyone(among):
                return Counter()
        if self.state.time_is_up:
            yield from self.waiting.unless_time_is_up()
            return Counter()  # others may be there by now
        chosen = Counter(self.coordinator.select(view, reports, k))
        self._check(chosen)
        self.accounting.select(k, chosen, tier, edge)
        return chosen

    def _view(self, k: int, among: Ids | None, round_: int, turn: int, part: int) -> View:
        """Return what the selector may look at now; arguments as of `select` and `View`."""
        everybody = self.candidates.able if among is None else among
        return View(
            round_,
            self.state.timeline.now,
            self.history,
            available=lambda: self.candidates.reachable(everybody),
            draw=lambda count, rng: self.candidates.draw(count, rng, among),
            model_bytes=self.state.settings.prices.model_bytes,
            k=k,
            truth=self.truth,
            turn=turn,
            part=part,
            members=read_only(everybody),
        )

    def _check(self, chosen: Counter[int]) -> None:
        """Assert that somebody was chosen, and that all of them can take part now.

        Raises:
            ComponentError: that does not hold.
        """
        absent = self.candidates.absent(chosen)
        if not chosen or absent:
            raise ComponentError(
                f"{self.coordinator.chooser}, choosing clients in round {self.state.round}: "
                + (f"these can't take part now: {absent}" if absent else "it chose nobody")
            )
