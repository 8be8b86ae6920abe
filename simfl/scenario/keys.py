"""Every key that a scenario can have, by its path: those of its parts, and options of components.

A path has ``[]`` for the items of a list and ``*`` for names of the user's own:
``fleet[].compute``, ``fleet[].trace[].columns.*.unit``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simfl.core.registry import Registry
from simfl.errors import InputError
from simfl.scenario.fields import components_of, part_of
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.part import Part

Chosen = Callable[[str, Registry[Any]], list[str]]
"""The path of a component, and what there is -> the names of those whose options count."""


@dataclass(frozen=True)
class Key:
    """One key of the language.

    Attributes:
        path: where it stands.
        name: its field's name in the class that declares it.
        field: what it takes.
        component: the component whose option it is, with its kind's plural (None: a part's own).
        part: what a mapping below it, or each item of its list, is made of (None: anything else).
        items: how a path leads from it into `part`: ``[]``, ``.*`` or not at all.
        members: the components that it takes, if any.
    """

    path: str
    name: str
    field: FieldInfo
    component: tuple[str, str] | None = None
    part: type[Part] | None = None
    items: str = ""
    members: Registry[Any] | None = None

    @property
    def last(self) -> str:
        """The last name of its path."""
        return plain(self.path).rpartition(".")[2]

    @property
    def above(self) -> str:
        """The path of the key that it is in ("": it is at the top)."""
        return re.sub(r"(\[\]|\.\*)*\.?[^.]+$", "", self.path)


def plain(path: str) -> str:
    """Return a path without the items that it leads through.

    >>> plain("fleet[0].trace[].file"), plain("fleet.0.trace")
    ('fleet.trace.file', 'fleet.trace')
    """
    return re.sub(r"\[[^\]]*\]|\.(\d+|\*)(?=\.|$)", "", path)


def keys(chosen: Chosen) -> Iterator[Key]:
    """Yield every key of the language, with the options of components that are `chosen`."""
    yield from _below(Experiment, "", None, chosen, frozenset())


def all_keys() -> list[Key]:
    """Return every key of the language, with the options of all components."""
    return list(keys(lambda _, members: members.names()))


def _below(
    model: type[BaseModel],
    above: str,
    component: tuple[str, str] | None,
    chosen: Chosen,
    outer: frozenset[str],
) -> Iterator[Key]:
    """Yield the keys of a model and of what they take, apart from the kinds in `outer`."""
    for name, field in model.model_fields.items():
        part, items = part_of(field)
        members, _ = components_of(field)
        path = f"{above}{field.alias or name}"
        yield Key(path, name, field, component, part, items, members)
        if part is not None:
            yield from _below(part, f"{path}{items}.", component, chosen, outer)
        elif members is not None and members.plural not in outer:
            known = members.names()  # a user's own are not imported
            for choice in (name for name in chosen(path, members) if name in known):
                own = members.plural, choice
                inner = outer | {members.plural}
                yield from _below(members.get(choice), f"{path}.", own, chosen, inner)


def find(path: str) -> list[Key]:
    """Return the keys that `path`, or a key's last name alone, stands for: one path's.

    Several are options of several components.

    Raises:
        InputError: the name stands for several paths.
    """
    wanted = plain(path)
    everything = all_keys()
    if exact := [key for key in everything if plain(key.path) == wanted]:
        return exact
    called = [key for key in everything if plain(key.path).endswith(f".{wanted}")]
    paths = list(dict.fromkeys(key.path for key in called))
    if len(paths) > 1:
        listed = "".join(f"\n  {path}" for path in paths)
        raise InputError(f"several keys are called {path!r}; describe one of:{listed}")
    return called
