"""What training minimises: one loss a file; `base.py` is the seam."""
