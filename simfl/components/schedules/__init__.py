"""How the learning rate changes over the rounds: one schedule a file; `base.py` is the seam."""

from simfl.components.schedules.base import Schedule, schedules

__all__ = ["Schedule", "schedules"]
