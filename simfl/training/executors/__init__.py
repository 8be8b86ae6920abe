"""Where orders are computed: one executor a file; `base.py` is the seam."""

from simfl.training.executors.base import Executor, executors

__all__ = ["Executor", "executors"]
