"""Scenarios of the published experiments: those of the repository, by links."""
