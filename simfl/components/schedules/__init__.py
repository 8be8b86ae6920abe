"""How the learning rate changes over the rounds: one schedule a file; `base.py` is the seam."""
