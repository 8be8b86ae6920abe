"""Model components, one file each; `base.py` is the seam."""

from simfl.components.models.base import Model, models

__all__ = ["Model", "models"]
