"""Options that fill in others: a class of devices, or whose experiments a selector's defaults are.

A resolved scenario spells out all that they fill in.  To name another there is to mean its numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from simfl.scenario.language.place import Location, Marks
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.parts.fleet import Group
from simfl.scenario.paths import registry_at

BUNDLES = ("device", "preset")


def filled_in(
    written: Mapping[str, Any], path: Location, marks: Mapping[Location, Marks]
) -> Iterator[Location]:
    """Yield what is written beside the option at `path` and is no more than what that fills in.

    Only where all of it is written, as in a resolved scenario: else it is somebody's own choice, as
    what other changes have put there is.
    """
    *above, option = path
    beside = _at(written, tuple(above))
    if option == "device":
        given = _of_device(beside) if path[0] == "fleet" else {}
    else:
        given = _of_preset(tuple(above), beside)
    if given.keys() <= beside.keys() or "trace" in beside:
        yield from _alike(beside, given, tuple(above), marks)


def _alike(
    written: Mapping[str, Any],
    given: Mapping[str, Any],
    above: Location,
    marks: Mapping[Location, Marks],
) -> Iterator[Location]:
    """Yield where both are the same; mappings are compared key by key."""
    for key, value in given.items():
        where = (*above, key)
        if isinstance(value, Mapping) and isinstance(written.get(key), Mapping):
            yield from _alike(written[key], value, where, marks)
        elif key in written and written[key] == value and not _is_changed(where, marks):
            yield where


def _is_changed(where: Location, marks: Mapping[Location, Marks]) -> bool:
    """Return whether what is written there comes from a change, such as ``--set``."""
    mark, whole = marks.get(where), marks.get(())
    return mark is not None and (whole is None or mark.value.source != whole.value.source)


def _at(written: Any, path: Location) -> Mapping[str, Any]:
    """Return the mapping at `path`, an empty one if there is none."""
    for key in path:
        if isinstance(written, Mapping):
            written = written.get(key)
        elif isinstance(written, list) and isinstance(key, int) and key < len(written):
            written = written[key]
        else:
            return {}
    return written if isinstance(written, Mapping) else {}


def _of_device(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the numbers of the class of a group's devices, as a resolved scenario has them."""
    name = group.get("device")
    if not isinstance(name, str) or name not in catalogue():
        return {}
    resolved = Group.model_validate({"device": name, "count": 1}).model_dump(mode="json")
    return {number: resolved[number] for number in catalogue()[name].defaults()}


def _of_preset(path: Location, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the preset of a component's `options` sets, likewise."""
    registry, name, preset = registry_at(path), options.get("name"), options.get("preset")
    if registry is None or not isinstance(name, str) or name not in registry.names():
        return {}
    presets = getattr(registry.get(name), "presets", {})
    if not isinstance(preset, str) or preset not in presets:
        return {}
    resolved = registry.dump(registry.parse({"name": name, "preset": preset}))
    sets = dict.fromkeys(key for options in presets.values() for key in options)
    return {key: resolved[key] for key in sets}
