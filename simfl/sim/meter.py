"""What errands cost, as it happens: nothing else writes what a device has moved and spent."""

from simfl.sim.errand import Errand, Phase
from simfl.sim.networks.base import Direction


class Meter:
    """Reads what devices at work move and spend, until it is booked.

    Attributes:
        bytes: moved so far by errands that are not booked, in transfers that are over.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._open = 0
        self._joules = 0.0

    @property
    def energy_j(self) -> float:
        """Spent so far by errands that are not booked, in phases that are over."""
        return max(self._joules, 0.0)  # what is added phase by phase is taken off in one

    def open(self) -> None:
        """Record that an errand begins."""
        self._open += 1

    def moved(self, errand: Errand, way: Direction, size: int) -> None:
        """Record that a transfer of so many bytes is over, or broken off after them."""
        if way == "down":
            errand.down_bytes += size
        else:
            errand.up_bytes += size
        self.bytes += size

    def spent(self, errand: Errand, phase: Phase, lasted_s: float) -> None:
        """Record that a phase is over, or has been interrupted, after so long."""
        power = errand.group.power
        if phase == "download":
            errand.download_s += lasted_s
            self._joules += power.download * lasted_s
        elif phase == "compute":
            errand.compute_s += lasted_s
            self._joules += power.compute * lasted_s
        else:
            errand.upload_s += lasted_s
            self._joules += power.upload * lasted_s

    def close(self, errand: Errand) -> tuple[int, float]:
        """Take an errand off that is booked now; return its bytes, and the joules of its phases."""
        power = errand.group.power
        size = errand.down_bytes + errand.up_bytes
        at_work_j = (
            power.download * errand.download_s
            + power.compute * errand.compute_s
            + power.upload * errand.upload_s
        )
        self._open -= 1
        self.bytes -= size
        self._joules = self._joules - at_work_j if self._open else 0.0
        return size, at_work_j
