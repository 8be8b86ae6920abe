"""The seam of networks: transfers as events.  A network does not know what it carries."""

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import simpy
from numpy.typing import NDArray

from simfl.registry import Component, Registry
from simfl.sim.timeline import Timeline

Direction = Literal["down", "up"]


class Transfer(simpy.Event):
    """Fires when the last byte is delivered; `abort` stops it."""

    def abort(self) -> int:
        """Stop now, free the links at this instant and return the whole bytes moved so far."""
        raise NotImplementedError


class Links(ABC):
    """The links of one run, shared by its devices."""

    @abstractmethod
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        """Return how long a transfer of `size` bytes takes, latency included.

        None where links are shared, so that what others do can change it.
        """

    @abstractmethod
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        """Return how long it takes with every link to itself (for planning and deadlines)."""

    @abstractmethod
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        """Start moving `size` bytes between the server and `device`."""


class Network(Component, ABC):
    """How bytes get from the server to the devices and back."""

    @abstractmethod
    def bind(
        self,
        timeline: Timeline,
        downlink_bps: NDArray[np.float64],
        uplink_bps: NDArray[np.float64],
        latency_s: NDArray[np.float64],
    ) -> Links:
        """Return the links of `n` devices.

        Args:
            timeline: the clock.
            downlink_bps: `(n,)` each device's own downlink, bit/s (inf: unlimited).
            uplink_bps: `(n,)` uplink, bit/s.
            latency_s: `(n,)` one-way latency, seconds, spent before the first byte moves.
        """


networks: Registry[Network] = Registry("network", "simfl.sim.networks", default="shared")
