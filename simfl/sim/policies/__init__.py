"""Round policies, one file each; `base.py` is the seam.

What several share begins with an underscore, or is the server's.
"""
