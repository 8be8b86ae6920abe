"""The seam of networks: transfers as events.  A network does not know what it carries."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import simpy

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Floats, Ids
from simfl.sim.occasions import Jitter
from simfl.sim.timeline import Timeline

Direction = Literal["down", "up"]

ROUNDING = 1e-6
"""Of a byte: what floating point may fall short of a whole byte that has moved."""


class Transfer(simpy.Event, ABC):
    """Fires when the last byte is delivered; `abort` stops it."""

    waits: ClassVar[bool] = False
    """Whether its bytes move only for a part of its time: it tells `on_move` when."""
    on_move: Callable[[bool], None] = staticmethod(lambda moves: None)
    """Told when bytes begin to move, and when all have left the device; set by who waits for it."""

    @property
    def moves(self) -> bool:
        """Whether bytes move now."""
        return True

    @property
    def landed(self) -> bool:
        """Whether all bytes have left the device, which has no more part in it."""
        return False

    @abstractmethod
    def abort(self) -> int:
        """Stop now, free the links at this instant and return the whole bytes moved so far.

        It does not fire by itself any more: who waits for it is told by who has stopped it.
        """


class Links(ABC):
    """The links of one run, shared by its devices."""

    @property
    def steady(self) -> bool:
        """Whether nothing of them follows the time of day, or of the week; False: not known."""
        return False

    @abstractmethod
    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        """Return how long a transfer of `size` bytes takes, latency included.

        None where links are shared, so that what others do can change it, or where it is drawn.
        """

    @abstractmethod
    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        """Return how long it takes with every link to itself (for planning and deadlines).

        At nominal rates: what varies over time is not known beforehand.
        """

    def all_expected_s(self, devices: int, direction: Direction, size: int) -> Floats:
        """Return `(n,)` `expected_s` of devices 0 to ``n - 1``, to the same bits."""
        return np.array([self.expected_s(device, direction, size) for device in range(devices)])

    def separate(self, devices: Sequence[Ids]) -> None:
        """Take note that each of these groups of devices has a server of its own from now on.

        Args:
            devices: `(m,)` ids of each group; all others have the same server.
        """
        return

    def order(self, device: int) -> None:
        """Take note that `device` is given an order now by its server."""
        return

    @abstractmethod
    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        """Start moving `size` bytes between the server and `device`."""


class Network(Component, ABC):
    """How bytes get from the server to the devices and back."""

    @abstractmethod
    def bind(
        self,
        timeline: Timeline,
        downlink_bps: Floats,
        uplink_bps: Floats,
        latency_s: Floats,
        *,
        cells: Ids | None = None,
        variation: Jitter | None = None,
        folder: Path | None = None,
    ) -> Links:
        """Return the links of `n` devices.

        The arguments by keyword are only given where a scenario asks for them.

        Args:
            timeline: the clock.
            downlink_bps: `(n,)` each device's own downlink, bit/s (inf: unlimited).
            uplink_bps: `(n,)` uplink, bit/s.
            latency_s: `(n,)` one-way latency, seconds, spent before the first byte moves.
            cells: `(n,)` where each device stands among `cell_names`, -1: beside them all (None:
                every device).
            variation: how rates differ from transfer to transfer (None: not at all).
            folder: where relative files are looked up; given if it `reads_files`.

        Raises:
            InputError: a file can't be read or makes no sense.
        """

    @property
    def reads_files(self) -> bool:
        """Whether `bind` needs to know where files are."""
        return False

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The cells or access points that groups of devices may share."""
        return ()


networks: Registry[Network] = Registry("network", "simfl.sim.networks", default="shared")
