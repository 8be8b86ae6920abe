"""Models of links: who gets how much of one, and what TCP waits for.

Of numbers alone: time is an argument, and none of them knows of SimPy.
"""
