"""Partition components, one file each; `base.py` is the seam."""

from simfl.components.partitions.base import Partition, partitions

__all__ = ["Partition", "partitions"]
