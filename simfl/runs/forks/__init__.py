"""Forks: a run continued from a virtual instant under changed rules, its past shared.

A fork's folder begins with the log of the run that it comes from, up to the instant, and with the
scenarios that were in force before.  Doing the fork is resuming from there, by the same replay; so
is doing it again.  The past is checked byte for byte, as ever.
"""
