"""Rates that differ from time to time: by a log-normal factor of median 1, or as a law has it."""

import math

from simfl.sim.occasions import Occasions


class Jitter(Occasions):
    """Draws ``exp(sigma * z)`` with z standard normal, anew for each transfer or training.

    What varies is the "link" or "compute"; a group's amount is sigma.  A group may have a law of
    rates instead.
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

    def rate(self, device: int, doing: str, nominal: float) -> float:
        """Return the rate at which `device` does what it begins now, to its end.

        Args:
            device: of the fleet.
            doing: what it begins.
            nominal: its rate where nothing varies.
        """
        if (law := self.law(device)) is not None:
            return law(self.uniform(device, doing))
        return nominal * self.factor(device, doing)
