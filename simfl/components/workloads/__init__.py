"""Workload components, one file each; `base.py` is the seam."""

from simfl.components.workloads.base import Workload, workloads

__all__ = ["Workload", "workloads"]
