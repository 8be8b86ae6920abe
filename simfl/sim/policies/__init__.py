"""Round policies, one file each; `base.py` is the seam."""
