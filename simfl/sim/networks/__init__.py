"""Networks, one file each; `base.py` is the seam.

What `shared`, the one that is built in, is made of: links at work on the timeline, transfers, and
in `links` the models of links.
"""
