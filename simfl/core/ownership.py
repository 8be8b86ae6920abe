"""Whose a component is, simfl's own or its users', and what messages call it."""

import re
from collections.abc import Sequence

from simfl.core.component import Component


def is_simfls(kind: type) -> bool:
    """Return whether a class is simfl's own."""
    return kind.__module__.startswith("simfl.")


def users_own(components: Sequence[Component]) -> list[Component]:
    """Return those that are not simfl's but its users'."""
    return [part for part in components if not is_simfls(type(part))]


def names(components: Sequence[Component]) -> str:
    """Return what messages call them: the users' among them, else the first."""
    named = users_own(components) or components[:1]
    return " or ".join(f"{_kind(component)} {component.name!r}" for component in named)


def _kind(component: Component) -> str:
    base = next(kind for kind in type(component).__mro__ if Component in kind.__bases__)
    return re.sub(r"(?<!^)(?=[A-Z])", " ", base.__name__).lower()
