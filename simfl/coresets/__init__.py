"""Coreset components, one file each; `base.py` is the seam."""

from simfl.coresets.base import Coreset, coresets

__all__ = ["Coreset", "coresets"]
