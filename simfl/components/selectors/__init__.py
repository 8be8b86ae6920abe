"""Selector components, one file each; `base.py` is the seam.

What several share begins with an underscore; `mathematics` is what selectors compute.
"""
