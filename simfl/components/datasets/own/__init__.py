"""What data sets of the user's own share, however they are stored: `base.py` is what each is.

Readers return `rows`, those of `tables` by their columns, and pictures as `pixels`.  Labels are
learned `as_targets`, and inputs taken `as_inputs`: tokens, or numbers, standardised or not.
"""
