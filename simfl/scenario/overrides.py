"""Changes to a document: by ``--set``, or by a variant.

A change replaces what is at its path.  Two shortcuts let it say only what differs: a mapping for a
part of the scenario (`training`, `rounds`, ...) is merged into it, key by key; and a path into a
component that is only named (``selection: fedcor``, then ``selection.warmup``) gives it options.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from simfl.errors import ScenarioError, nearest
from simfl.scenario.document import Document, Key, Location, Marks, Override, dotted, parse_path
from simfl.scenario.fields import is_component, is_part


def apply(document: Document, override: Override) -> Document:
    """Return `document` with `override` made.

    Raises:
        ScenarioError: its path leads through something that has no such key.
    """
    data = deepcopy(document.data)
    marks = dict(document.marks)
    for path, value in _leaves(override.path, override.value):
        try:
            where = _put(data, marks, path, value)
        except LookupError as error:
            mark = override.marks.get(path) or override.marks[override.path]
            raise ScenarioError(f"{mark.key}: {dotted(path)}: {error.args[0]}") from None
        for key in [key for key in marks if key[: len(where)] == where]:
            del marks[key]
        for key, mark in override.marks.items():
            if key[: len(path)] == path:
                marks[where + key[len(path) :]] = mark
    return replace(document, data=data, marks=marks)


def variant_overrides(document: Document, name: str) -> list[Override]:
    """Return the changes that the variant `name` makes, in the order written.

    Raises:
        ScenarioError: a key is no path.
    """
    changes: list[Override] = []
    for key, value in document.data["variants"][name].items():
        written: Location = ("variants", name, key)
        path = parse_path(key, str(document.place(written, key=True)))
        marks = {
            path + place[len(written) :]: mark
            for place, mark in document.marks.items()
            if place[: len(written)] == written
        }
        anywhere = document.place(written)
        changes.append(Override(path, value, marks or {path: Marks(anywhere, anywhere)}))
    return changes


def _leaves(path: Location, value: Any) -> Iterator[tuple[Location, Any]]:
    """Yield what is to be replaced: mappings that are merged are taken apart."""
    options = is_component(path) and isinstance(value, Mapping) and "name" not in value
    if isinstance(value, Mapping) and value and (is_part(path) or options):
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    else:
        yield path, value


def _put(data: Any, marks: dict[Location, Marks], path: Location, value: Any) -> Location:
    """Write `value` at `path` of `data`, in place; return where that really is.

    Raises:
        LookupError: there is nothing to put it into.
    """
    at, here = data, cast(Location, ())
    for depth, wanted in enumerate(path):
        key = _key(at, here, wanted)
        if key is None:
            continue
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
    raise LookupError("can't be replaced as a whole by this path")


def _key(at: Any, here: Location, wanted: Key) -> Key | None:
    """Return the key that `wanted` means in `at`; None: `at` itself."""
    if isinstance(at, dict):
        if here == ("fleet",) and wanted == 0:
            return None  # a fleet of one group may be written without a list
        return wanted if wanted in at else str(wanted)
    if isinstance(at, list):
        if isinstance(wanted, int):
            if wanted < len(at):
                return wanted
            raise LookupError(f"{dotted(here)} has only {len(at)} items, counted from 0")
        names = [item.get("name") if isinstance(item, dict) else None for item in at]
        if wanted in names:
            return names.index(wanted)
        hint = nearest(str(wanted), [name for name in names if isinstance(name, str)])
        raise LookupError(f"{dotted(here)} is a list, which has no {wanted!r}{hint}")
    raise LookupError(f"{dotted(here)} is {at!r}, which has no {wanted!r}")
