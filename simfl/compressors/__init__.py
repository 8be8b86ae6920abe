"""Update compressors, one file each; `base.py` is the seam."""

from simfl.compressors.base import Compressor, compressors

__all__ = ["Compressor", "compressors"]
