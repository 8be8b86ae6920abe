"""Changes to a document: by ``--set``, or by a variant.

A change replaces what is at its path.  Two shortcuts let it say only what differs: a mapping for a
part of the scenario (`training`, `rounds`, ...) is merged into it, key by key; and a path into a
component that is only named (``selection: fedcor``, then ``selection.warmup``) gives it options.
Null takes away what can't be null, so that its default holds again.  In a resolved scenario another
class of devices, or another preset, takes away what the one before had filled in.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from simfl.core.named_options import glued_name
from simfl.core.words import numbered
from simfl.errors import MEANT, ScenarioError, nearest
from simfl.scenario.bundles import BUNDLES, filled_in
from simfl.scenario.fields import by_name
from simfl.scenario.language.place import Key, Location, Marks, dotted
from simfl.scenario.language.yaml import read_yaml
from simfl.scenario.parts.fleet import Group
from simfl.scenario.paths import is_component, is_part, takes_nothing


@dataclass(frozen=True)
class Override:
    """One change to a document: ``--set PATH=VALUE``, or a line of a variant."""

    path: Location
    value: Any
    marks: Mapping[Location, Marks]

    @classmethod
    def read(cls, path: Location, text: str, source: str, *, removable: bool = True) -> "Override":
        """Return the change of `path` to what YAML `text` holds, which messages call `source`.

        Args:
            path: what is changed.
            text: of the value.
            source: what messages call it.
            removable: whether it is worth saying that null takes the key away.

        Raises:
            ScenarioError: it is empty, or no YAML.
        """
        if not text.strip():
            null = f" ({source.strip()}null takes the key away)" if removable else ""
            raise ScenarioError(
                f"{source}: the value is empty; is a variable of the shell not set?{null}"
            )
        value, marks = read_yaml(text, source, lines=False)
        return cls(path, value, {path + inner: mark for inner, mark in marks.items()})


def apply(
    override: Override, written: Mapping[str, Any], places: Mapping[Location, Marks]
) -> tuple[dict[str, Any], dict[Location, Marks]]:
    """Return a document's data, and where each piece of it stands, with `override` made.

    Raises:
        ScenarioError: its path leads through something that has no such key.
    """
    data = deepcopy(dict(written))
    marks = dict(places)
    for path, value in replacements(override.path, override.value):
        mark = override.marks.get(path) or override.marks[override.path]
        before = deepcopy(data) if path[-1] in BUNDLES else data
        try:
            _refuse_unknown_variant(data, override.path)
            where = _put(data, marks, _grouped(data, path), value)
        except LookupError as error:
            raise ScenarioError(f"{mark.key}: {dotted(path)}: {error.args[0]}") from None
        if value is None and not takes_nothing(where, data):
            _take_away(data, where)
        replaced = [where]
        if path[-1] in BUNDLES and value is not None:
            for filled in filled_in(before, where, marks):
                _take_away(data, filled)
                replaced.append(filled)
        for key in [key for key in marks if any(key[: len(old)] == old for old in replaced)]:
            del marks[key]
        for depth in range(1, len(where)):
            marks.setdefault(where[:depth], mark)
        for key, place in override.marks.items():
            if key[: len(path)] == path:
                marks[where + key[len(path) :]] = place
    return data, marks


def replacements(path: Location, value: Any) -> Iterator[tuple[Location, Any]]:
    """Yield what is to be replaced: mappings that are merged are taken apart."""
    named = isinstance(value, Mapping) and ("name" in value or glued_name(value))
    options = is_component(path) and isinstance(value, Mapping) and not named
    whole = isinstance(value, Mapping) and "distribution" in value  # a number of its own, replaced
    if isinstance(value, Mapping) and value and not whole and (is_part(path) or options):
        for key, item in value.items():
            yield from replacements((*path, key), item)
    else:
        yield path, value


def meant(path: Location, data: Mapping[str, Any]) -> Location:
    """Return where `path` leads in a document's data: a group has a number, a name, or neither.

    Of a path that leads further than the data, the rest stays as it is.
    """
    path, at = _grouped(data, path), cast(Any, data)
    for depth, wanted in enumerate(path):
        try:
            key = _key(at, path[:depth], wanted)
            at = at[key]
        except LookupError:
            break
        path = (*path[:depth], key, *path[depth + 1 :])
    return path


def parse_path(text: str, source: str) -> Location:
    """Return the location that ``fleet[0].count`` or ``fleet.0.count`` names.

    Raises:
        ScenarioError: it is no path.
    """
    undecoded = any("\ud800" <= letter <= "\udfff" for letter in text)  # of another encoding
    if undecoded or not re.fullmatch(r"[^.\[\]\s]+(?:\.[^.\[\]]+|\[\d+\])*", text):
        raise ScenarioError(f"{source}: {text!r} is no path; expected one such as fleet[0].count")
    keys = re.findall(r"[^.\[\]]+", text)
    return tuple(int(key) if key.isascii() and key.isdigit() else key for key in keys)


def _grouped(data: Any, path: Location) -> Location:
    """Return `path` with its group of the fleet chosen as the fleet is written.

    A fleet of one group may be written without a list, and its group needs no choosing.
    """
    fleet = data.get("fleet")
    if path[0] != "fleet" or len(path) == 1:
        return path
    if isinstance(fleet, dict) and path[1] in (0, fleet.get("name")):
        return (path[0], *path[2:])
    if isinstance(fleet, list) and len(fleet) == 1 and by_name(Group, str(path[1])) is not None:
        return (path[0], 0, *path[1:])
    return path


def _refuse_unknown_variant(data: Mapping[str, Any], path: Location) -> None:
    """Refuse a change within a variant that there is not: a typo would make one more.

    Raises:
        LookupError: there is none of this name.
    """
    known = data.get("variants") or {}
    if path[0] == "variants" and len(path) > 2 and isinstance(known, Mapping):
        name = str(path[1])
        if name not in map(str, known):
            hint = nearest(name, map(str, known))
            if not hint.startswith(MEANT):
                hint += f"; a new one is written `variants.{name}={{{dotted(path[2:])}: ...}}`"
            raise LookupError(f"there is no variant {name!r}{hint}")


def _put(data: Any, marks: dict[Location, Marks], path: Location, value: Any) -> Location:
    """Write `value` at `path` of `data`, in place; return where that really is.

    Raises:
        LookupError: there is nothing to put it into.
    """
    at, here = data, cast(Location, ())
    for depth, wanted in enumerate(path):
        key = _key(at, here, wanted)
        here = (*here, key)
        if depth == len(path) - 1:
            at[key] = deepcopy(value)
            return here
        inner = at.get(key) if isinstance(at, dict) else at[key]
        if isinstance(inner, str) and is_component(here):
            inner = {"name": inner}
            if here in marks:
                marks[(*here, "name")] = marks[here]
        elif inner is None:
            inner = {}
        at[key] = at = inner
    raise LookupError("names nothing")


def _take_away(data: Any, path: Location) -> None:
    for key in path[:-1]:
        data = data[key]
    del data[path[-1]]


def _key(at: Any, here: Location, wanted: Key) -> Key:
    """Return the key that `wanted` means in `at`, which is at `here`."""
    if isinstance(at, dict):
        if here == ("fleet",) and isinstance(wanted, int):
            raise LookupError(f"{dotted(here)} has only 1 item, counted from 0")
        return wanted if wanted in at else str(wanted)
    if isinstance(at, list):
        if isinstance(wanted, int):
            if wanted < len(at):
                return wanted
            items = numbered(len(at), "item")
            raise LookupError(f"{dotted(here)} has only {items}, counted from 0")
        names = [item.get("name") if isinstance(item, dict) else None for item in at]
        if wanted in names:
            return names.index(wanted)
        hint = nearest(str(wanted), [name for name in names if isinstance(name, str)])
        raise LookupError(f"{dotted(here)} is a list, which has no {wanted!r}{hint}")
    raise LookupError(f"{dotted(here)} is {at!r}, which has no {wanted!r}")
