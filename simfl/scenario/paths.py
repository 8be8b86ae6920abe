"""What may stand at a path of a scenario: its schema, walked down from the top."""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simfl.core.code import is_code
from simfl.core.registry import Registry
from simfl.scenario.fields import by_name, components_of, mapping_of, model_within
from simfl.scenario.language.place import Location
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.fleet import Group


def is_part(path: Location) -> bool:
    """Return whether a part of the scenario, a mapping with fixed keys, is at `path`."""
    return path != ("fleet",) and model_within(*_start(path)) is not None


def is_component(path: Location) -> bool:
    """Return whether a component is at `path`."""
    return registry_at(path) is not None


def registry_at(path: Location) -> Registry[Any] | None:
    """Return the registry whose components may be at `path` (None: no component)."""
    model, rest = _start(path)
    parent = model_within(model, rest[:-1])
    field = by_name(parent, str(rest[-1])) if rest and parent is not None else None
    return None if field is None else _chosen_from(field)


def takes_nothing(path: Location, data: Mapping[str, Any]) -> bool:
    """Return whether what is at `path` of a scenario with such `data` may be null or must be given.

    What may do neither goes by its default where it is not written.  Of options of a user's own
    components nothing is known.
    """
    start, rest = _start(path)
    model: type[BaseModel] | None = start
    written: Any = data
    for key in path[: len(path) - len(rest)]:
        written = written[key]
    for depth, key in enumerate(rest):
        field = None if model is None else by_name(model, str(key))
        if field is None:
            return True
        if depth == len(rest) - 1:
            optional = field.annotation is Any or type(None) in get_args(field.annotation)
            return optional or field.is_required()
        if get_origin(field.annotation) is dict and depth == len(rest) - 2:
            return False  # an entry of a name of the user's own, such as a variant
        written = written[key]
        model = _model_of(field, written)
    return True


def _model_of(field: FieldInfo, written: Any) -> type[BaseModel] | None:
    """Return the model of what a field takes, such as the component `written` (None: not known)."""
    if (registry := _chosen_from(field)) is None:
        return mapping_of(field)
    name = written.get("name", registry.default) if isinstance(written, Mapping) else written
    known = isinstance(name, str) and not is_code(name)
    return registry.get(name) if known and name in registry.names() else None


def _chosen_from(field: FieldInfo) -> Registry[Any] | None:
    """Return the registry whose components a field takes (None: none, or a list of such)."""
    registry, items = components_of(field)
    return None if items else registry


def _start(path: Location) -> tuple[type[BaseModel], Location]:
    """Return a model and the rest of the path, past the choice of one of the fleet's groups."""
    if path[:1] != ("fleet",) or len(path) == 1:
        return Experiment, path
    chooses = isinstance(path[1], int) or by_name(Group, path[1]) is None
    return Group, path[2:] if chooses else path[1:]
