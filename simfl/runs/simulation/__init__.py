"""One run's clock, from its start to its end, and what came of it in the run's folder.

`simulate` has the clock of a `recorded_server` go, and tells of `hidden_randomness` and
`unsaved_state` of users' components.
"""
