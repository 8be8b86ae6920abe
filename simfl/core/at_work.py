"""Whose code this process is in: simfl's own, or that of a user's component."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from simfl.core.component import Component

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
    begin(asked)
    try:
        yield
    finally:
        end(asked)


def begin(asked: Asked) -> None:
    """Note that somebody's code is asked."""
    _ASKED.append(asked)


def end(asked: Asked) -> None:
    """Note that it has returned."""
    if _ASKED[-1] is asked:
        _ASKED.pop()
        return
    # Generators end in any order; equal ones are not the same.
    place = next(at for at in reversed(range(len(_ASKED))) if _ASKED[at] is asked)
    del _ASKED[place]


def users_own(components: Sequence[Component]) -> list[Component]:
    """Return those that are not simfl's but its users'."""
    return [part for part in components if not type(part).__module__.startswith("simfl.")]


def names(components: Sequence[Component]) -> str:
    """Return what messages call them: the users' among them, else the first."""
    named = users_own(components) or components[:1]
    return " or ".join(f"{_kind(component)} {component.name!r}" for component in named)


def _kind(component: Component) -> str:
    base = next(kind for kind in type(component).__mro__ if Component in kind.__bases__)
    return re.sub(r"(?<!^)(?=[A-Z])", " ", base.__name__).lower()
