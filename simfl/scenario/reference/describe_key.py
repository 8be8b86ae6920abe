"""What a key of a scenario takes, for people: a section's, or an option of its components."""

import inspect
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from simfl.errors import NameNotFound
from simfl.scenario.keys import Key, all_keys, find, plain
from simfl.scenario.parts.part import Part
from simfl.scenario.reference.describe import (
    DRAWS,
    LISTED,
    Description,
    is_kind,
    kinds_of,
    overview,
)
from simfl.scenario.reference.describe_units import UnitDescription, described_units
from simfl.scenario.reference.kinds import KINDS, plural
from simfl.scenario.reference.namesakes import called_so, namesakes
from simfl.scenario.reference.option import Option, is_drawn, option_lines, option_of


@dataclass(frozen=True)
class KeyDescription:
    """What a key is.

    Attributes:
        path: where it stands, with ``[]`` for items of a list and ``*`` for names of one's own.
        of: the components that have it as an option, kind (plural) and name (none: a part's key).
        takes: what stands there, its default and unit.
        members: the kind (plural) of components, or distributions, that it takes ("": none).
        options: of a section: the keys in it.
    """

    path: str
    of: Sequence[tuple[str, str]]
    takes: Option
    members: str
    options: Sequence[Option]

    def __str__(self) -> str:
        whose = ", ".join(_listed(kind, who) for kind, who in _by_kind(self.of).items())
        what = f"option of {whose}" if whose else "key of a scenario"
        blocks = [f"{self.path} ({what})", option_lines(self.takes)]
        if self.options:
            blocks.append("Options:\n" + "\n".join(map(option_lines, self.options)))
        if self.members:
            names = ", ".join(overview(self.members))
            text = f"{names} (simfl describe {self.members} NAME; simfl list {self.members})"
            what = "Distributions" if self.members == DRAWS else "One of"
            blocks.append(textwrap.fill(f"{what}: {text}", 96, break_on_hyphens=False))
        return "\n\n".join(blocks)


def _by_kind(of: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return names of components by their kinds."""
    return {kind: [name for other, name in of if other == kind] for kind, _ in of}


def _listed(kind: str, names: Sequence[str]) -> str:
    every = len(names) > 1 and set(names) == set(overview(kind))
    return f"all {kind}" if every else f"{kind} {', '.join(names)}"


def described(word: str) -> list[Description] | list[KeyDescription] | list[UnitDescription]:
    """Return what is called `word`: components, a class of devices, a key of a scenario, or a unit.

    A name of both is the component's, unless it is written as a path.  Components of several kinds,
    and options of several components that differ, are described one by one.

    Raises:
        NameNotFound: nothing is called so.
        InputError: several paths are.
    """
    with suppress(NameNotFound):
        return [Description.find(kind, word) for kind in kinds_of(word)]
    if found := find(word):
        return _merged(found)
    if units := described_units(word):
        return units
    if ":" in word:
        kinds = f"such as `simfl describe {next(iter(KINDS))} {word}`"
        raise NameNotFound("component or key", word, (), f"; say of which kind it is, {kinds}")
    if told := namesakes(word):
        raise NameNotFound("component or key", word, (), called_so(word, told))
    known = {name for kind in LISTED for name in overview(kind)}
    keys = {name for key in all_keys() for name in (plain(key.path), key.last)}
    where = "; `simfl list` has the components, `simfl describe rounds` and other sections the keys"
    if "." in word:  # every path begins with that of its section, which is hardly meant
        keys = {path for path in keys if path.count(".") == word.count(".")}
    raise NameNotFound("component or key", word, known | keys, else_=where)


def keys_within(section: str) -> list[str]:
    """Return the names of the keys in a section of a scenario (none: it is no section)."""
    return sorted({key.last for key in all_keys() if plain(key.above) == plain(section)})


def lists(word: str) -> bool:
    """Return whether `word` is a kind's alone: no component's, and no section of a scenario."""
    with suppress(NameNotFound):
        return not kinds_of(word)
    return is_kind(word) and all(key.path != word for key in all_keys())


def also(word: str) -> str:
    """Return a hint at what else is called as a component is: keys, distributions, a kind."""
    paths = dict.fromkeys(
        plain(key.path) for key in all_keys() if key.last == word and key.component is None
    )
    commands = " or ".join(f"`simfl describe {path}`" for path in paths)
    told = [f"Keys of a scenario are called so too: {commands}"] if paths else []
    if word in overview(DRAWS) and kinds_of(word) != [DRAWS]:
        told.append(f"A distribution is called so too: `simfl describe {DRAWS} {word}`")
    if is_kind(word) and word not in LISTED:
        told.append(f"A kind of components is called so too: `simfl list {plural(word)}`")
    return "\n".join(told)


def _merged(keys: Sequence[Key]) -> list[KeyDescription]:
    """Return a description each of keys of one path, one of those that do not differ."""
    told: list[KeyDescription] = []
    for key in keys:
        new = _describe(key)
        same = [old for old in told if replace(old, of=()) == replace(new, of=())]
        if same:
            told[told.index(same[0])] = replace(same[0], of=[*same[0].of, *new.of])
        else:
            told.append(new)
    return told


def _describe(key: Key) -> KeyDescription:
    within = [] if key.part is None else all_keys()
    options = [_option(inner) for inner in within if inner.above == key.path]
    drawn = DRAWS if is_drawn(key.field) else ""
    members = drawn if key.members is None else key.members.plural
    of = [] if key.component is None else [key.component]
    takes = _option(key, f"{_shape(key)} with the options below")
    return KeyDescription(key.path, of, takes, members, options)


def _shape(key: Key) -> str:
    """Return what holds the part at a key."""
    if key.items == "[]":
        return "a mapping, or a list of mappings,"
    return "a mapping of names to mappings" if key.items else "a mapping"


def _option(key: Key, part: str = "") -> Option:
    """Return a key as an option; if it holds a part, `part` says so (default: where to look)."""
    option = option_of(key.name, key.field)
    if key.part is None:
        return option
    text = option.description or " ".join((inspect.getdoc(key.part) or "").split("\n\n")[0].split())
    takes = part or f"{_shape(key).rstrip(',')}: see `simfl describe {plain(key.path)}`"
    other = option.type.removesuffix(f" | {key.part.__name__}")  # battery.start: a share, too
    either = "" if other == option.type else f"{other}, or "
    default = None if option.required else _default(key, option.default)
    return replace(option, type=either + takes, default=default, description=text)


def _default(key: Key, written: Any) -> Any:
    """Return what stands for the part at a key if it is left out, `written` if that is no part."""
    default = key.field.get_default(call_default_factory=True)
    if not isinstance(default, Part):
        return None if written == [] else written
    own = default.model_dump(mode="json", exclude_defaults=True)
    told = ", ".join(f"{name}: {value}" for name, value in own.items())
    return f"{{{told}}}" if told else "that of each of its options"
