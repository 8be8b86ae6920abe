"""Model components, one file each; `base.py` is the seam."""

from simfl.models.base import Model, models

__all__ = ["Model", "models"]
