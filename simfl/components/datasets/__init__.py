"""Dataset components, one file each; `base.py` is the seam.

What families of them share is in rooms: `own` and `image_sets`.
"""
