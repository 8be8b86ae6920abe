"""Where orders are computed: one executor a file; `base.py` is the seam."""
