"""Tuning a scenario: which choices are tried, and what comes of each."""
