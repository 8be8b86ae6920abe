"""Availability components, one file each; `base.py` is the seam."""

from simfl.availability.base import Availability, availabilities

__all__ = ["Availability", "availabilities"]
