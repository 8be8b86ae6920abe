"""Measures of quality beside accuracy and loss: one a file; `base.py` is the seam."""
