"""Update filter components, one file each; `base.py` is the seam."""

from simfl.components.filters.base import UpdateFilter, filters

__all__ = ["UpdateFilter", "filters"]
