"""What image sets that were published share: `base.py`, and how they are stored."""
