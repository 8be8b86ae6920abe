"""A comparison of runs in words and in tables: its sections, their cells, and every format."""
