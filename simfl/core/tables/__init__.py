"""CSV files: how they are opened and read, row by row or at one go, and what is wrong with them."""
