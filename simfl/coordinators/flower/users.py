"""What is Flower's and what is the user's: its modules are extras, and their errors are theirs."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from simfl.core.extras import extra
from simfl.errors import ComponentError

ROUNDING = 1e-6
"""Of a mean that clients' accuracies have been weighted for, in single precision perhaps."""


def flower(module: str) -> Any:
    """Return a module of Flower."""
    return extra(f"flwr.{module}", "flower", "running Flower's strategies")


@contextmanager
def users(what: str) -> Iterator[None]:
    """Tell what users' code raises, or what it returns that can't be read, as theirs.

    Raises:
        ComponentError: it did.
    """
    try:
        yield
    except ComponentError:
        raise
    except Exception as error:
        raise ComponentError(f"{what}: {described(error)}") from error


def asking(what: str, round_: int) -> AbstractContextManager[None]:
    """Tell what a strategy's method raises in a round, as `users` does."""
    return users(f"the strategy's {what} in round {round_}")


def described(error: BaseException) -> str:
    """Return what users' code raised, as messages tell it."""
    return f"{type(error).__name__}: {error}"


def share(accuracy: Any) -> float | None:
    """Return an accuracy (None: there is none), which may be above 1 by rounding.

    Raises:
        ValueError: it is no share.
    """
    if accuracy is None:
        return None
    if not 0 <= (value := float(accuracy)) <= 1 + ROUNDING:
        raise ValueError(f"an accuracy must be a share, from 0 to 1, not {accuracy}")
    return min(value, 1.0)


def number(metric: Any) -> float:
    """Return a metric that may be anything, or nothing: NaN if it is no number."""
    try:
        return float(metric)
    except (TypeError, ValueError):
        return math.nan
