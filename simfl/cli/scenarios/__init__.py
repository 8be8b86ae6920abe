"""Scenarios that `simfl new --from` starts from: those of the repository, by links."""
