"""Update compressors, one file each; `base.py` is the seam."""

from simfl.components.compressors.base import Compressor, compressors

__all__ = ["Compressor", "compressors"]
