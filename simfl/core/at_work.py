"""Whose code this process is in: simfl's own, or that of a user's component."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from simfl.core.component import Component
from simfl.core.ownership import names, users_own

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
