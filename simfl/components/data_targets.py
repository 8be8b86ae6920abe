"""What a data set's targets are, and who can make nothing of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry

Targets = Literal["classes", "labels", "numbers"]
"""A class each, yes or no for each of several labels, or numbers."""


def unfit(
    component: Component, takes: Sequence[Targets], members: Registry[Any], facts: Circumstances
) -> Iterator[str]:
    """Yield why a component cannot be computed for the data set's targets, and which others can.

    Args:
        component: such as a loss.
        takes: the targets that it is for.
        members: of its kind, which have `takes`, too.
        facts: of the scenario.
    """
    if facts.targets not in takes:
        others = [name for name in members.names() if facts.targets in members.get(name).takes]
        yield (
            f"{members.kind} {component.name!r} is for {' or '.join(takes)}, but the targets of "
            f"data set {facts.dataset!r} are {facts.targets}; use {' or '.join(others)}"
        )
