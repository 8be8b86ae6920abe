"""Selector components, one file each; `base.py` is the seam."""

from simfl.components.selectors.base import Selector, selectors

__all__ = ["Selector", "selectors"]
