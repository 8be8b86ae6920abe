"""Workload components, one file each; `base.py` is the seam."""

from simfl.workloads.base import Workload, workloads

__all__ = ["Workload", "workloads"]
