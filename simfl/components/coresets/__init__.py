"""Coreset components, one file each; `base.py` is the seam."""

from simfl.components.coresets.base import Coreset, coresets

__all__ = ["Coreset", "coresets"]
