"""What to train and what came of it: the one local-training program and its measures (torch)."""
