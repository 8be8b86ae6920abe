"""Dataset components, one file each; `base.py` is the seam."""

from simfl.components.datasets.base import Dataset, datasets

__all__ = ["Dataset", "datasets"]
