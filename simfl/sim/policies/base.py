"""The seam of round policies: the server's own process, which decides whom to wait for."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import simpy

from simfl.registry import Component, Registry

if TYPE_CHECKING:
    from simfl.sim.server import Server

Process = Generator[simpy.Event, Any, None]


class RoundPolicy(Component, ABC):
    """How the server waits: for whom, and until when."""

    @abstractmethod
    def run(self, server: "Server") -> Process:
        """Run rounds until `server.finished`; a SimPy process."""


policies: Registry[RoundPolicy] = Registry(
    "round policy", "simfl.sim.policies", default="synchronous"
)
