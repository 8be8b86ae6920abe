"""What training minimises: one loss a file; `base.py` is the seam."""

from simfl.components.losses.base import Loss, losses

__all__ = ["Loss", "losses"]
