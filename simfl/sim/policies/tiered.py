"""Tiers: clients of like speed run synchronous rounds together, each tier at its own pace.

FedAT (Chai et al., 2021, arXiv:2010.05958); the tiers are those of TiFL (Chai et al., 2020,
arXiv:2001.09249; docs/algorithms.md, A.13): equal shares of the clients by latency.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.sim.policies.base import CallOff, Process, RoundPolicy, policies
from simfl.sim.server.deadlines import Deadline
from simfl.sim.server.server import Server
from simfl.sim.server.waiting import Attempts


@policies.register("tiered")
class Tiered(RoundPolicy):
    """Each tier selects, waits and has its updates aggregated, without a look at the others.

    Tiers come from how long the server has seen clients take: quantiles of the last durations, the
    fastest in tier 0.  Who has not been seen yet belongs to a tier drawn at random, so that nobody
    needs to be profiled before training starts.  Goes with ``aggregation: fedat`` and as many
    tiers there, or with `fedbuff`, to which the updates of a slow tier are stale.  The event log
    says of each selection whose it is.
    """

    awaits_updates = True
    goes_with = ("fedat", "fedbuff")

    tiers: int = Field(5, ge=1, description="number of tiers (TiFL and FedAT: 5)")
    clients_per_tier: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="clients that a tier selects per round; default: an equal share of "
        "rounds.clients, rounded up",
    )
    deadline: Deadline = Field(
        None, description="how long a tier's round may last: none | a duration | {stragglers: 30%}"
    )

    @property
    @override
    def n_tiers(self) -> int:
        return self.tiers

    @property
    @override
    def yardstick(self) -> Deadline:
        return self.deadline

    @property
    @override
    def call_off(self) -> CallOff | None:
        """Its rounds end when somebody arrives, and bytes are counted at their end."""
        return CallOff.at(self.deadline, "time")

    @override
    def counted(self, wanted: int) -> int:
        return self.clients_per_tier or math.ceil(wanted / self.tiers)

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        """Yield also that tiers are more than devices; the default goes with any fleet."""
        yield from super().objections(circumstances)
        default = type(self).model_fields["tiers"].default
        if few := circumstances.fewer_than(self.tiers, default):
            yield f"policy {self.name!r} has {self.tiers} tiers, but {few}"

    @override
    def run(self, server: Server) -> Process:
        limit_s = server.deadline_s(self.deadline)
        server.open_round()
        for tier in range(self.tiers):
            server.spawn(self._pace(server, tier, limit_s))
        while not server.finished:
            yield server.change

    def _pace(self, server: Server, tier: int, limit_s: float) -> Process:
        """Run the rounds of one tier."""
        k = self.counted(server.settings.clients)
        attempts, looked_s = Attempts(), server.timeline.now
        while True:
            members = yield from server.until_somebody(lambda: self.members(server, tier))
            if server.finished:
                return
            if looked_s < server.timeline.now:
                # Who has just come has brought an update: the model that is sent is made of it.
                looked_s = server.timeline.now
                yield server.timeline.deadline(looked_s)
                continue
            chosen = yield from server.select(k, members, tier)
            parts = server.send_all(chosen, limit_s, tier=tier)
            if attempts.exhausted(bool(parts) or limit_s < math.inf):
                yield from server.until_change()
            yield server.closing(parts, limit_s)
            yield server.call_off(parts)
            if arrived := [part for part in parts if part.arrived]:
                yield from server.aggregate(arrived, chosen)
                if not server.finished:
                    server.open_round()
                    server.stir()  # who belongs to which tier may have changed

    def members(self, server: Server, tier: int) -> Ids:
        """Return `(m,)` the ids that belong to `tier` now, ascending."""
        able = server.candidates.able
        place = _drawn(server.seeds, len(server.history.duration_s), self.tiers)[able]
        took_s = server.history.duration_s[able]
        seen = np.isfinite(took_s)
        # Position among those seen; equal times share a tier's border, the lowest id first.
        order = np.argsort(took_s[seen], kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        place[seen] = rank * self.tiers // max(len(order), 1)
        mine: Ids = able[place == tier]
        return mine


@lru_cache(maxsize=1)  # of a million devices, drawing takes most of what a tier's round does
def _drawn(seeds: Seeds, devices: int, tiers: int) -> NDArray[np.int32]:
    """Return `(devices,)` the tier of each that has not been seen yet."""
    uniforms = seeds.uniforms(("tiers",), np.arange(devices), 0)
    drawn = np.minimum((uniforms * tiers).astype(np.int32), tiers - 1)
    drawn.flags.writeable = False
    return drawn
