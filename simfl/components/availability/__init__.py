"""Availability components, one file each; `base.py` is the seam."""

from simfl.components.availability.base import Availability, availabilities

__all__ = ["Availability", "availabilities"]
