"""What came of runs, read from their folders: tables, comparisons, statistics."""
