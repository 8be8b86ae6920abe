"""Options that fill in others: a class of devices, or whose experiments a selector's defaults are.

A resolved scenario spells out what they fill in.  To name another there is to mean its numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from simfl.scenario.fields import registry_at
from simfl.scenario.language.place import Location
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.parts.fleet import Group

BUNDLES = ("device", "preset")


def filled_in(data: Any, path: Location) -> Iterator[Location]:
    """Yield what is written beside the option at `path` and is no more than what that fills in."""
    *above, option = path
    for key in above:
        data = data.get(key) if isinstance(data, Mapping) else data[key]
    if not isinstance(data, Mapping):
        return
    if option == "device" and path[0] == "fleet":
        given = _of_device(data.get("device"))
    elif option == "preset":
        given = _of_preset(tuple(above), data)
    else:
        return
    for key, value in given.items():
        if key in data and data[key] == value:
            yield (*above, key)


def _of_device(name: Any) -> Mapping[str, Any]:
    """Return the numbers of a class of devices, as a resolved scenario has them."""
    if not isinstance(name, str) or name not in catalogue():
        return {}
    group = Group.model_validate({"device": name, "count": 1}).model_dump(mode="json")
    return {number: group[number] for number in catalogue()[name].defaults()}


def _of_preset(path: Location, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the preset of a component's `options` sets, likewise."""
    registry = registry_at(path)
    name = options.get("name")
    if registry is None or name not in registry.names():
        return {}
    presets = getattr(registry.get(str(name)), "presets", {})
    if options.get("preset", next(iter(presets), None)) not in presets:
        return {}
    chosen = {key: options[key] for key in ("name", "preset") if key in options}
    resolved = registry.dump(registry.parse(chosen))
    return {key: resolved.get(key) for key in {key for each in presets.values() for key in each}}
