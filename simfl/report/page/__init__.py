"""Pages: of a run or several, of runs as they grow, of a tuning."""
