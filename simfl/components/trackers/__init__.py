"""Where results are kept besides the run's folder: one a file; `base.py` is the seam."""
