"""Faults of components: what one raises, or returns against its contract, is told as its own."""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from simfl.core.registry import Component
from simfl.core.types import Params
from simfl.errors import ComponentError, SimflError

_HERE = str(Path(__file__).parents[1])


class Unexpected(Exception):
    """A component has returned what its contract does not allow."""


def expect(holds: bool | np.bool_, expected: str, got: object) -> None:
    """Raise `Unexpected`, to be told by `blaming`, unless something `holds`."""
    if not holds:
        raise Unexpected(f"expected {expected}, got {got}")


@contextmanager
def blaming(
    component: Component, doing: str | Callable[[], str], passing: type[Exception] = SimflError
) -> Iterator[None]:
    """Tell whatever goes wrong inside as a fault of `component`.

    What a component of simfl's own raises is a bug of simfl's, and passes.

    Args:
        component: whose code runs inside.
        doing: what was asked of it, such as ``choosing clients in round 3``.
        passing: what is nobody's fault, besides simfl's own errors.

    Raises:
        ComponentError: something has gone wrong.
    """
    try:
        yield
    except (SimflError, MemoryError, passing):
        raise
    except Exception as error:
        unexpected = isinstance(error, Unexpected)
        if not unexpected and type(component).__module__.startswith("simfl."):
            raise
        doing = doing if isinstance(doing, str) else doing()
        what = f"{error}" if unexpected else f"{type(error).__name__}: {error}{_place(error)}"
        raise ComponentError(f"{_kind(component)} {component.name!r}, {doing}: {what}") from error


def check_vector(found: object, like: Params) -> Params:
    """Return `found` if it is a vector `(p,)` of finite float32 numbers as `like` is.

    Raises:
        Unexpected: it is not.
    """
    expected = f"{len(like)} finite numbers of type float32"
    if not isinstance(found, np.ndarray):
        raise Unexpected(f"expected {expected}, got {type(found).__name__}")
    expect(found.shape == like.shape, expected, f"an array of shape {found.shape}")
    expect(found.dtype == np.float32, expected, f"an array of {found.dtype}")
    odd = np.flatnonzero(~np.isfinite(found))
    expect(not len(odd), expected, f"{len(odd)} that are not finite" if len(odd) else "")
    return found


def _kind(component: Component) -> str:
    base = next(kind for kind in type(component).__mro__ if Component in kind.__bases__)
    return re.sub(r"(?<!^)(?=[A-Z])", " ", base.__name__).lower()


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_HERE)]
    return f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
