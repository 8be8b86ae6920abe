"""Aggregator components, one file each; `base.py` is the seam."""

from simfl.components.aggregators.base import Aggregator, aggregators

__all__ = ["Aggregator", "aggregators"]
