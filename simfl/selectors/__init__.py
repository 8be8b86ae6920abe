"""Selector components, one file each; `base.py` is the seam."""

from simfl.selectors.base import Selector, selectors

__all__ = ["Selector", "selectors"]
