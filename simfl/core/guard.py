"""Faults of components: what one raises, or returns against its contract, is told as its own."""

import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import getsourcefile
from pathlib import Path
from types import TracebackType

import numpy as np

from simfl.core.memory import is_out_of_memory
from simfl.core.registry import Component
from simfl.core.types import Ids, Params
from simfl.errors import ComponentError, SimflError

_SIMFL = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


Doing = str | Callable[[], str]
Asked = tuple[Sequence[Component], Doing]
_ASKED: list[Asked] = []
"""Whose code was asked for what and has not returned yet, the innermost last."""


def at_work() -> str:
    """Return in which user's code this process is, and what was asked of it ("": in none)."""
    for components, doing in reversed(_ASKED):
        if users_own(components):
            return f"{names(components)}, {doing if isinstance(doing, str) else doing()}"
    return ""


@contextmanager
def asking(components: Sequence[Component], doing: Doing) -> Iterator[None]:
    """Let `at_work` tell what happens inside."""
    asked = components, doing
    _ASKED.append(asked)
    try:
        yield
    finally:
        _answered(asked)


def _answered(asked: Asked) -> None:
    if _ASKED[-1] is asked:
        _ASKED.pop()
        return
    # Generators end in any order; equal ones are not the same.
    place = next(at for at in reversed(range(len(_ASKED))) if _ASKED[at] is asked)
    del _ASKED[place]


class Unexpected(Exception):
    """A component has returned what its contract does not allow."""


def expect(holds: bool | np.bool_, expected: str, got: object) -> None:
    """Raise `Unexpected`, to be told by `blaming`, unless something `holds`."""
    if not holds:
        raise Unexpected(f"expected {expected}, got {got}")


class blaming:  # noqa: N801  # a context manager, used like a function
    """Tell whatever goes wrong inside as a fault of `component`.

    What a component of simfl's own raises is a bug of simfl's, and passes.

    Args:
        component: whose code runs inside.
        doing: what was asked of it, such as ``choosing clients in round 3``.
        passing: what is nobody's fault, besides simfl's own errors.
        told_as: what it becomes: `InputError` as long as nothing has been run or written.
        steps: whether the code inside is a generator's: others are at work between its steps, and
            whoever takes them lets `at_work` tell, by `asking`.

    Raises:
        SimflError: of the kind `told_as`; names the exception and the user's line that raised it.
    """

    __slots__ = ("_asked", "_component", "_doing", "_passing", "_told_as")

    def __init__(
        self,
        component: Component,
        doing: Doing,
        *,
        passing: type[Exception] = SimflError,
        told_as: type[SimflError] = ComponentError,
        steps: bool = False,
    ) -> None:
        self._component, self._doing = component, doing
        self._passing, self._told_as = passing, told_as
        self._asked: Asked = () if steps else (component,), doing

    def __enter__(self) -> None:
        _ASKED.append(self._asked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        _answered(self._asked)
        passes = (SimflError, MemoryError, self._passing)
        if not isinstance(error, (Exception, SystemExit)) or isinstance(error, passes):
            return
        component, unexpected = self._component, isinstance(error, Unexpected)
        if not unexpected and type(component).__module__.startswith("simfl."):
            return
        doing = self._doing if isinstance(self._doing, str) else self._doing()
        what = f"{error}" if unexpected else f"{type(error).__name__}: {error}"
        place = None if unexpected else _place(error.__traceback__, type(component))
        where = f" ({place})" if place else ""
        raise self._told_as(f"{names([component])}, {doing}: {what}{where}") from error


@contextmanager
def blaming_code_of(components: Sequence[Component], doing: str) -> Iterator[None]:
    """Tell whatever goes wrong inside as a fault of the users' code among `components`.

    It need not be raised by that code: what a loss of the wrong shape leads to, PyTorch raises.

    Args:
        components: whose code runs inside; if all is simfl's own, everything passes.
        doing: what was asked of it, such as ``training clients [3, 5] in round 2``.

    Raises:
        ComponentError: names the component in whose code it was raised, else all of the users'.
    """
    try:
        with asking(components, doing):
            yield
    except (SimflError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        own = users_own(components)
        place = _place(error.__traceback__, type((own or components)[0]))
        if is_out_of_memory(error) or not (own or place):
            raise
        raised = traceback.walk_tb(error.__traceback__)
        callers = [frame.f_locals.get("self") for frame, _ in raised]
        blamed = [one for one in own if any(one is it for it in callers)] or own or components[:1]
        where = f" ({place})" if place else ""
        raise ComponentError(
            f"{names(blamed)}, {doing}: {type(error).__name__}: {error}{where}"
        ) from error


def check_vector(vector: object, like: Params) -> Params:
    """Return `vector` if it is one of shape `(p,)`, finite float32 numbers as `like` is.

    Raises:
        Unexpected: it is not.
    """
    expected = f"{len(like)} finite numbers of type float32"
    if not isinstance(vector, np.ndarray):
        raise Unexpected(f"expected {expected}, got {type(vector).__name__}")
    expect(vector.shape == like.shape, expected, f"an array of shape {vector.shape}")
    expect(vector.dtype == np.float32, expected, f"an array of {vector.dtype}")
    odd = np.flatnonzero(~np.isfinite(vector))
    expect(not len(odd), expected, f"{len(odd)} that are not finite" if len(odd) else "")
    return vector


def read_only(vector: Params) -> Params:
    """Return `vector` for others to look at: it is also somebody else's, and not to be changed."""
    view = vector.view()
    view.flags.writeable = False
    return view


def check_places(places: object, n: int, *, ordered: bool = False) -> Ids:
    """Return `places` if they are `(m,)` distinct whole numbers from 0 to ``n - 1``.

    Raises:
        Unexpected: they are not.
    """
    expected = f"distinct places from 0 to {n - 1}" + (" in ascending order" if ordered else "")
    found = np.asarray(places)
    whole = found.dtype.kind in "iu" or not found.size
    expect(found.ndim == 1 and whole, expected, f"{found.dtype} of shape {found.shape}")
    found = found.astype(np.int64)
    expect(not len(found) or (found.min() >= 0 and found.max() < n), expected, found)
    expect(len(np.unique(found)) == len(found), expected, found)
    expect(not ordered or bool((np.diff(found) > 0).all()), expected, found)
    return found


def users_own(components: Sequence[Component]) -> list[Component]:
    """Return those that are not simfl's but its users'."""
    return [one for one in components if not type(one).__module__.startswith("simfl.")]


def names(components: Sequence[Component]) -> str:
    """Return what messages call them: the users' among them, else the first."""
    named = users_own(components) or components[:1]
    return " or ".join(f"{_kind(component)} {component.name!r}" for component in named)


def _kind(component: Component) -> str:
    base = next(kind for kind in type(component).__mro__ if Component in kind.__bases__)
    return re.sub(r"(?<!^)(?=[A-Z])", " ", base.__name__).lower()


def _place(raised: TracebackType | None, owner: type) -> str | None:
    """Return the innermost line that is the user's (the owner's file is, wherever it lies)."""
    try:
        own = getsourcefile(owner)
    except (TypeError, OSError):
        own = None
    for frame in reversed(traceback.extract_tb(raised)):
        file = frame.filename
        # Of a compiled library's source there is no line; of a notebook's cell there is.
        foreign = file.startswith((_SIMFL, *_LIBRARIES)) or not frame.line
        if file == own or not foreign:
            return f"{file}:{frame.lineno}"
    return None
