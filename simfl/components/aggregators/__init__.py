"""Aggregator components, one file each; `base.py` is the seam.

What several share is in `weighting` (weights, sums) and `robust` (statistics by coordinate,
distances).
"""
