"""Trainings that break off before they are done: the app is closed, the memory runs out."""

from simfl.sim.occasions import Occasions


class Failures(Occasions):
    """Draws which trainings fail, and when; a group's amount is the share of those that do."""

    def breaks_off(self, device: int) -> float | None:
        """Return after which share of its work the training that `device` begins now fails.

        All shares are equally likely.  None: it does not fail.
        """
        if not (share := self.amount(device)):
            return None
        uniform = self.uniform(device, "training")
        return uniform / share if uniform < share else None
