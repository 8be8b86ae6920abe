"""Contract suites to inherit and fakes to test against, for authors of components."""
