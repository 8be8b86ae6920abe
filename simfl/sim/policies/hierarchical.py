"""Hierarchical rounds: edge servers between clients and cloud, HierFAVG (Liu et al., 2020).

"Client-Edge-Cloud Hierarchical Federated Learning", IEEE ICC 2020, arXiv:1905.06641, algorithm 1.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids
from simfl.core.units import Duration, LinkRate
from simfl.core.words import numbered
from simfl.sim.networks.base import Direction
from simfl.sim.policies.base import CallOff, Process, RoundPolicy, policies
from simfl.sim.server.deadlines import Deadline
from simfl.sim.server.server import Server


@policies.register("hierarchical")
class Hierarchical(RoundPolicy):
    """Each edge server runs synchronous rounds with its own clients; the cloud averages the edges.

    A round is one of the cloud's: it sends its model to every edge over the backhaul, each edge
    runs `edge_rounds` rounds from there, from its own model each, and sends that to the cloud,
    which waits for all.  There an edge counts with the training samples of all of its clients (as
    much as any other where the aggregation's `weighting` is uniform), or not at all if no update
    reached it.  An edge round begins once as many of its clients are available as are asked, or
    all that ever will be; with `rounds.min_clients`, once as many as that are, and the run is given
    up if an edge has fewer for good, but some.  Goes with ``aggregation: fedavg``, at the edges and
    at the cloud; `server_time` is the cloud's.
    Selectors that ask clients about the model ask about the cloud's last one.  The event log says
    of each selection whose it is, and what the backhaul moves.
    """

    has_quorum: ClassVar[bool] = True
    has_edges: ClassVar[bool] = True

    edges: Annotated[int, Field(ge=1)] | Literal["groups", "cells"] = Field(
        5,
        description="number of edge servers, to which devices are dealt in turn (the paper: 5); "
        "groups, cells: one for each group of the fleet, or each cell of the network",
    )
    edge_rounds: int = Field(
        2, ge=1, description="kappa_2: rounds of an edge between two aggregations at the cloud"
    )
    clients_per_edge: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="clients that an edge selects per edge round; default: an equal share of "
        "rounds.clients, rounded up",
    )
    deadline: Deadline = Field(
        None, description="how long an edge round may last: none | a duration | {stragglers: 30%}"
    )
    downlink: LinkRate = Field(
        math.inf, gt=0, description="backhaul from the cloud to each edge, shared with no other"
    )
    uplink: LinkRate = Field(
        math.inf, gt=0, description="backhaul from each edge to the cloud, likewise"
    )
    latency: Duration = Field(0.0, description="of the backhaul, one way")

    @property
    @override
    def may_be_stale(self) -> bool:
        return False

    @property
    @override
    def needs_cells(self) -> bool:
        return self.edges == "cells"

    @property
    @override
    def cohorts(self) -> int:
        return self.edge_rounds

    @property
    @override
    def yardstick(self) -> Deadline:
        return self.deadline

    @property
    @override
    def call_off(self) -> CallOff | None:
        """Edge rounds end by themselves, as those of synchronous rounds do."""
        return CallOff.at(self.deadline, "rounds", "time", "bytes")

    @override
    def counted(self, wanted: int) -> int:
        """Of one edge round of all edges; of groups or cells it is not known how many there are."""
        if self.clients_per_edge is None or not isinstance(self.edges, int):
            return wanted
        return self.edges * self.clients_per_edge

    @override
    def quorum(self, wanted: int) -> int:
        if self.clients_per_edge is not None:
            return self.clients_per_edge
        return math.ceil(wanted / self.edges) if isinstance(self.edges, int) else 1

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if isinstance(self.edges, int) and self.edges > circumstances.devices:
            devices = numbered(circumstances.devices, "device")
            yield f"policy {self.name!r} has {self.edges} edges, but the fleet has only {devices}"
        if circumstances.withheld_by:
            yield (
                f"policy {self.name!r} can't go with filter {circumstances.withheld_by!r}, by "
                "which clients compare their update with how the global model moved: they have "
                "their edge's"
            )

    @override
    def run(self, server: Server) -> Process:
        limit_s = server.deadline_s(self.deadline)
        members = self.edges_of(server)
        wanted = self.wanted(server.settings.clients, members)
        samples = {
            edge: int(server.history.samples[mine].sum()) for edge, mine in enumerate(members)
        }
        while not server.finished:
            yield from server.until_quorum(wanted)
            if server.finished:
                return
            server.open_round()
            server.edges.begin()
            rounds = [
                server.spawn(self._round_of(server, edge, mine, wanted, limit_s))
                for edge, mine in enumerate(members)
                if len(mine)
            ]
            yield server.timeline.all_of(rounds)
            if server.finished:  # given up in its midst: some edges have not sent their model
                return
            yield from server.edges.merge(samples)

    def wanted(self, clients: int, members: Sequence[Ids]) -> int:
        """Return how many clients an edge selects; those who have fewer select all.

        Args:
            clients: wanted per round.
            members: clients of each edge.
        """
        share = self.clients_per_edge or math.ceil(clients / len(members))
        return min(share, max(map(len, members)))  # no edge asks more than it has

    def backhaul_s(self, direction: Direction, size: int) -> float:
        """Return how long `size` bytes take over the backhaul of one edge."""
        rate_bps = self.downlink if direction == "down" else self.uplink
        return self.latency + 8 * size / rate_bps

    @override
    def edges_of(self, server: Server) -> list[Ids]:
        if not isinstance(self.edges, int):
            return server.groups if self.edges == "groups" else server.cells
        edge = server.holders % self.edges
        counts = np.bincount(edge, minlength=self.edges)
        in_turn = server.holders[np.argsort(edge, kind="stable")]
        return np.split(in_turn, np.cumsum(counts)[:-1])

    def _round_of(
        self, server: Server, edge: int, members: Ids, wanted: int, limit_s: float
    ) -> Process:
        """Run one edge's part of a round of the cloud's."""
        asked = min(wanted, len(members))
        yield from self._carry(server, edge, "down")
        for _ in range(self.edge_rounds):
            mine = np.setdiff1d(members, server.candidates.dismissed, assume_unique=True)
            yield from server.until_quorum(asked, mine)
            if server.finished:
                return
            if not server.anyone(mine):  # nor will ever be
                break
            chosen = yield from server.select(asked, mine, edge=edge)
            if not chosen:  # all have left for good while they were asked
                break
            parts = server.send_all(chosen, limit_s, base=server.edges.version(edge))
            yield server.closing(parts, limit_s)
            yield server.call_off(parts)
            server.edges.aggregate(edge, [part for part in parts if part.arrived], chosen)
        if server.edges.version(edge) < 0:  # a model of its own, else it has nothing to send
            yield from self._carry(server, edge, "up")

    def _carry(self, server: Server, edge: int, direction: Direction) -> Process:
        """Send a model over the backhaul of one edge."""
        takes_s = self.backhaul_s(direction, server.settings.prices.model_bytes)
        if takes_s > 0:
            yield server.timeline.time_up(server.timeline.now + takes_s)
        server.edges.carried(edge, direction)
