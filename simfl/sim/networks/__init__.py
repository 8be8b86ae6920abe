"""Networks, one file each; `base.py` is the seam."""

from simfl.sim.networks.base import Network, networks

__all__ = ["Network", "networks"]
