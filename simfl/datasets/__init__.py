"""Dataset components, one file each; `base.py` is the seam."""

from simfl.datasets.base import Dataset, datasets

__all__ = ["Dataset", "datasets"]
