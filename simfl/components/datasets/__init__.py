"""Dataset components, one file each; `base.py` is the seam."""
