"""A run's folder: what is written as the run goes on, and read again."""
