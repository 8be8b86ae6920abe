"""The seam of round policies: the server's own process, which decides whom to wait for."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any, ClassVar

import simpy
from pydantic import Field

from simfl.core.circumstances import Circumstances
from simfl.core.guard import blaming, expect
from simfl.core.registry import Component, Registry
from simfl.core.units import Duration
from simfl.sim.server.server import Server

Process = Generator[simpy.Event, Any, None]


class RoundPolicy(Component, ABC):
    """How the server waits: for whom, and until when.

    A policy knows what a server can know: who answered, when, and how long it took; never a
    device's true speed or its outages to come.  A round is one aggregation.
    """

    has_quorum: ClassVar[bool] = False
    """Whether it waits for `rounds.min_clients` to be available before a round begins."""

    server_time: Duration = Field(
        0.0, description="how long the server takes for an aggregation; devices work on meanwhile"
    )

    @property
    def may_be_stale(self) -> bool:
        """Whether the model may have moved on since a client got its own."""
        return True

    @abstractmethod
    def run(self, server: Server) -> Process:
        """Run rounds until `server.finished`; a SimPy process."""


policies: Registry[RoundPolicy] = Registry(
    "round policy", "simfl.sim.policies", default="synchronous"
)


def main(server: Server, policy: RoundPolicy) -> Process:
    """Run `policy` until it finishes or virtual time is up; the process that a run waits for."""
    yield from server.conduct(_run(policy, server), policy.server_time)


def _run(policy: RoundPolicy, server: Server) -> Process:
    with blaming(policy, lambda: f"in round {server.state.round}", passing=simpy.Interrupt):
        process = policy.run(server)
        expect(isinstance(process, Generator), "a generator of events", type(process).__name__)
        yield from process
        expect(server.finished, "rounds until `server.finished`", "an end before that")


def unless_withheld(policy: RoundPolicy, circumstances: Circumstances) -> Iterator[str]:
    """Yield the objection of a `policy` whose rounds end only once updates have come."""
    if circumstances.withheld_by and "time" not in circumstances.ends_by:
        yield (
            f"policy {policy.name!r} needs `rounds.stop` to name a time: filter "
            f"{circumstances.withheld_by!r} may keep every update from the server, and it would "
            "wait forever"
        )
