"""Where results are kept besides the run's folder: one a file; `base.py` is the seam."""

from simfl.components.trackers.base import Tracker, trackers

__all__ = ["Tracker", "trackers"]
