"""The seam of round policies: the server's own process, which decides whom to wait for."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import simpy
from pydantic import Field
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Ids
from simfl.core.units import Duration
from simfl.sim.server.deadlines import Deadline
from simfl.sim.server.server import Server

Process = Generator[simpy.Event, Any, None]


class CallOff(NamedTuple):
    """What calls off whoever takes too long.

    Attributes:
        option: of the policy, that says so.
        limit_s: after how long.
        ends: the stopping rules that are met even if nobody is ever done.
    """

    option: str
    limit_s: float
    ends: tuple[str, ...]

    @classmethod
    def at(cls, deadline: Deadline, *ends: str) -> "CallOff | None":
        """Return what calls off at a `deadline` (None: there is none, or the fleet decides)."""
        return cls("deadline", deadline, ends) if isinstance(deadline, float) else None


class RoundPolicy(Component, ABC):
    """How the server waits: for whom, and until when.

    A policy knows what a server can know: who answered, when, and how long it took; never a
    device's true speed or its outages to come.  A round is one aggregation.
    """

    has_quorum: ClassVar[bool] = False
    """Whether it waits for `rounds.min_clients` to be available before a round begins."""
    awaits_updates: ClassVar[bool] = False
    """Whether its rounds end only once updates have come."""
    refills: ClassVar[bool] = False
    """Whether it keeps a number of clients at work, and asks for as many as are missing."""
    has_edges: ClassVar[bool] = False
    """Whether clients send to edge servers, whose models are averaged: no aggregator will do but
    such as return a weighted mean and nothing else, and nobody uses links of the server's own."""
    goes_with: ClassVar[Sequence[str]] = ()
    """Names of the aggregators that are made for it (none: those of synchronous rounds)."""

    server_time: Duration = Field(
        0.0,
        description="how long the server takes for an aggregation; devices continue to work "
        "meanwhile",
    )

    @property
    def may_be_stale(self) -> bool:
        """Whether the model may have moved on since a client got its own."""
        return True

    @property
    def n_tiers(self) -> int:
        """How many parts of the fleet have rounds of their own."""
        return 1

    @property
    def needs_cells(self) -> bool:
        """Whether each group of the fleet has to be in a cell of the network."""
        return False

    @property
    def cohorts(self) -> int:
        """How often a round asks `rounds.clients` clients, roughly."""
        return 1

    @property
    def yardstick(self) -> Deadline:
        """How long a participation is planned to last, and rounds are measured by (None: any)."""
        return None

    @property
    def enforces(self) -> bool:
        """Whether what takes longer than `yardstick` is not waited for."""
        return True

    @property
    def call_off(self) -> CallOff | None:
        """What calls off whoever takes too long (None: nothing, or it depends on the fleet)."""
        return None

    @property
    def least_updates(self) -> int:
        """How many have to arrive in a round that counts (1: any round does)."""
        return 1

    def asked(self, wanted: int) -> int:
        """Return how many clients are asked for a round in which `wanted` are to count."""
        return wanted

    def counted(self, wanted: int) -> int:
        """Return how many updates an aggregation takes, about, where clients `wanted` are set."""
        return wanted

    def quorum(self, wanted: int) -> int:
        """Return how many are waited for before a round of `wanted`, unless the scenario says it.

        Only where it `has_quorum`.
        """
        return self.asked(wanted)

    def edges_of(self, server: Server) -> list[Ids]:
        """Return the ids of each edge server's clients, ascending: `(m,)` that hold samples."""
        return []

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        withheld = self.awaits_updates and circumstances.withheld_by
        if withheld and "time" not in circumstances.ends_by:
            yield (
                f"policy {self.name!r} needs `rounds.stop` to name a time: filter {withheld!r} may "
                "keep every update from the server, and it would wait forever"
            )

    @abstractmethod
    def run(self, server: Server) -> Process:
        """Run rounds until `server.finished`; a SimPy process."""


policies: Registry[RoundPolicy] = Registry(
    "round policy", "simfl.sim.policies", default="synchronous"
)
