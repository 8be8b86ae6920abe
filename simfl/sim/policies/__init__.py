"""Round policies, one file each; `base.py` is the seam."""

from simfl.sim.policies.base import RoundPolicy, policies

__all__ = ["RoundPolicy", "policies"]
