"""How long the full workload takes each device: what deadlines and previews are measured by."""

import math

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Direction, Links
from simfl.sim.server.deadlines import Stragglers, percentile
from simfl.sim.server.planning import Planner
from simfl.sim.server.state import RunState


class NominalTimes:
    """Times of the full workload by the rules in force, each device's links to itself.

    Args:
        state: of the run.
        fleet: the devices.
        links: their links.
        planner: says what the selector's measurements add.
        holders: `(m,)` devices that hold samples, ascending.
    """

    def __init__(
        self, state: RunState, fleet: Fleet, links: Links, planner: Planner, holders: Ids
    ) -> None:
        self._state, self._fleet, self._links = state, fleet, links
        self._planner, self._holders = planner, holders

    def deadline_s(self, deadline: Stragglers | float | None) -> float:
        """Return how long a round may last from its dispatch, seconds (inf: no deadline).

        ``{stragglers: s}`` is the (100 - s)-percentile, linearly interpolated, of the times that
        the full workload takes each device that holds samples (FedCore, section 3.1;
        docs/algorithms.md, F.2).
        """
        if isinstance(deadline, Stragglers):
            return percentile(self.nominal_round_s(), 1 - deadline.stragglers)
        return math.inf if deadline is None else deadline

    def nominal_round_s(self, everybody: bool = False) -> Floats:
        """Return `(m,)` how long the full workload takes each device that holds samples.

        Args:
            everybody: give `(n,)`, the devices without samples too.
        """
        down_s, compute_s, up_s = self.nominal_phases_s()
        times: Floats = (down_s + compute_s) + up_s
        return times if everybody else times[self._holders]

    def nominal_phases_s(self) -> tuple[Floats, Floats, Floats]:
        """Return `(n,)` each: the full workload's download, training and upload.

        Summed in this order they tie with a device's process to the last bit.
        """
        settings, samples = self._state.settings, self._fleet.samples
        plan = settings.nominal
        if plan.steps is None:
            units = plan.full_epochs * samples.astype(np.float64)
        else:
            sizes, index = np.unique(samples, return_inverse=True)
            units = np.array([plan.units(int(n), settings.batch_size) for n in sizes])[index]
        units = units + self._planner.extra_units
        down_s = self._transfer_s("down", settings.prices.down_bytes)
        return down_s, units / self._fleet.rate, self.upload_s(self._planner.upload_bytes)

    def upload_s(self, size: int) -> Floats:
        """Return `(n,)` how long an upload of `size` bytes takes each device."""
        return self._transfer_s("up", size)

    def _transfer_s(self, direction: Direction, size: int) -> Floats:
        return self._links.all_expected_s(len(self._fleet), direction, size)
