"""The timeline of a run, for Perfetto."""
