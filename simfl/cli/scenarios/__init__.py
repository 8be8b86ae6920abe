"""Scenarios that `simfl new --from` starts from: those of the repository, by links."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


def shipped() -> "dict[str, Traversable]":
    """Return the scenarios that come with simfl, by name."""
    from importlib.resources import files

    return {
        Path(place.name).stem: place
        for place in files(__package__).iterdir()
        if place.name.endswith(".yaml")
    }
