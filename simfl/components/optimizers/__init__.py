"""How clients step along their gradients: one optimizer a file; `base.py` is the seam."""

from simfl.components.optimizers.base import Optimizer, optimizers

__all__ = ["Optimizer", "optimizers"]
