"""What selectors do every so many rounds, once a round."""


def is_due(every: int, last: int, now: int) -> bool:
    """Return whether a multiple of `every` lies after round `last` and not after `now`.

    Where a server replaces clients one by one, a round has several selections, and may have none:
    what is due is done at the first selection since, and once.

    Args:
        every: rounds.
        last: 0-based round of the selection before (-1: there was none).
        now: 0-based round of this one.

    >>> is_due(10, 19, 20), is_due(10, 20, 20), is_due(10, 18, 23)
    (True, False, True)
    """
    return now // every > last // every
