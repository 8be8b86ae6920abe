"""A run and its folder: doing it, recording it, resuming it, comparing it."""
