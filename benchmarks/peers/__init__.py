"""Other simulators on W1, W2 and W3, each in an environment of its own."""
