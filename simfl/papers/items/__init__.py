"""A folder per paper, in it a file per experiment, and what is not repeated, with the reason."""
