"""Choosing clients: what the selector asks is asked, and takes its time, before it chooses."""

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from simfl.components.selectors.base import Reports, View
from simfl.core.types import Ids
from simfl.errors import RunError
from simfl.sim.coordinator import Coordinator
from simfl.sim.server.probing import ask

if TYPE_CHECKING:
    from simfl.sim.server.server import Server


class Selection:
    """The server's dealings with its selector.

    Args:
        server: whose.
        coordinator: asks the selector.

    Attributes:
        under_way: selections under way (they may take time, for probes).
        asking: probes under way.
    """

    def __init__(self, server: "Server", coordinator: Coordinator) -> None:
        self._server = server
        self._coordinator = coordinator
        self._turn = 0
        self.under_way = self.asking = 0

    def restart(self) -> None:
        """Count the selections of a new round."""
        self._turn = 0

    def select(self, k: int, among: Ids | None = None) -> Generator[simpy.Event, Any, Counter[int]]:
        """Ask what the selector needs to know, then return whom it chose and how often.

        Nobody is chosen only if the run is finished.

        Args:
            k: how many are wanted.
            among: `(m,)` candidates, ascending (None: everybody).
        """
        self.under_way += 1
        try:
            while True:
                chosen = yield from self._choose(k, among)
                if not chosen:  # everybody left while being asked
                    yield from self._server.wait_for_devices(among)
                if chosen or self._server.finished:
                    return chosen
        finally:
            self.under_way -= 1

    def _choose(self, k: int, among: Ids | None) -> Generator[simpy.Event, Any, Counter[int]]:
        server, turn = self._server, self._turn
        self._turn += 1
        # Rounds may end while questions are out; the selection remains that of its own.
        round_ = server.round
        view = self._view(k, among, round_, turn)
        reports: tuple[Reports, ...] = ()
        while (probe := self._coordinator.next_probe(view, reports)) is not None:
            self.asking += 1
            try:
                took = yield from ask(server, probe)
            finally:
                self.asking -= 1
            answer = self._coordinator.answer(probe, list(took), list(took.values()), view)
            reports += (answer,)
            view = self._view(k, among, round_, turn)
            if not server.anyone(among):
                return Counter()
        chosen = Counter(self._coordinator.select(view, reports, k))
        asked = np.array(sorted(chosen), dtype=np.int64)
        able = server.candidates.reachable(asked) if len(asked) else asked
        if not len(asked) or len(able) < len(asked):
            absent = sorted(set(asked.tolist()) - set(able.tolist()))
            raise RunError(
                f"in round {server.round} the selector chose "
                + (f"clients that can't take part now: {absent}" if absent else "nobody")
            )
        server.timeline.note(
            "selected", round=server.round, asked=k, clients=list(chosen.elements())
        )
        server.accounting.totals.selected += len(chosen)
        return chosen

    def _view(self, k: int, among: Ids | None, round_: int, turn: int) -> View:
        server = self._server
        everybody = server.candidates.able if among is None else among
        return View(
            round_,
            server.timeline.now,
            server.history,
            available=lambda: server.candidates.reachable(everybody),
            draw=lambda count, rng: server.candidates.draw(count, rng, among),
            model_bytes=server.settings.prices.model_bytes,
            k=k,
            truth=server.truth,
            turn=turn,
        )
