"""Rates that differ from time to time: a log-normal factor of median 1."""

import math

from simfl.sim.occasions import Occasions


class Jitter(Occasions):
    """Draws ``exp(sigma * z)`` with z standard normal, anew for each transfer or training.

    What varies is the "link" or "compute"; a group's amount is sigma.
    """

    def varies(self, device: int) -> bool:
        """Return whether the rates of `device` differ from time to time."""
        return self.amount(device) > 0

    def factor(self, device: int, doing: str) -> float:
        """Return the factor of the rate at which `device` does what it begins now, to its end."""
        from scipy.special import ndtri  # slow to import: scenarios are checked without it

        if not (sigma := self.amount(device)):
            return 1.0
        return math.exp(sigma * float(ndtri(self.uniform(device, doing))))
