"""What data sets of the user's own share, however they are stored: rows, labels, pictures."""
