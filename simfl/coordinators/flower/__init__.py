"""Flower behind the door: a user's strategy decides, their clients train (``simfl[flower]``).

The `coordinator` asks either of Flower's two `interface`s: `by_messages`, that of a `ClientApp` and
of the strategies of ``flwr.serverapp``, who meet at a `grid`; or `by_methods`, that of
``flwr.server``, whose `clients` have a method for each question.  `users` tells what users' code
raises as theirs.
"""
