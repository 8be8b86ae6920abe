"""What may stand where in a scenario: its schema, walked by path."""

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simfl.core.code import is_code
from simfl.core.registry import Registry
from simfl.core.units.fields import Quantity, Share
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
    return None if field is None else component_registry(field)


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
    if (registry := component_registry(field)) is None:
        return _part_of(field)
    name = written.get("name", registry.default) if isinstance(written, Mapping) else written
    known = isinstance(name, str) and not is_code(name)
    return registry.get(name) if known and name in registry.names() else None


def _start(path: Location) -> tuple[type[BaseModel], Location]:
    """Return a model and the rest of the path, past the choice of one of the fleet's groups."""
    if path[:1] != ("fleet",) or len(path) == 1:
        return Experiment, path
    chooses = isinstance(path[1], int) or by_name(Group, path[1]) is None
    return Group, path[2:] if chooses else path[1:]


def model_within(model: type[BaseModel], path: Location) -> type[BaseModel] | None:
    """Return the model of the mapping that is at `path` of `model`, if it is one known before."""
    for key in path:
        field = by_name(model, str(key))
        inner = None if field is None else _part_of(field)
        if inner is None:
            return None
        model = inner
    return model


def _part_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of the mapping that a field takes, if it is one known before."""
    options: list[Any] = [field.annotation]
    if get_origin(options[0]) in (Union, types.UnionType):
        options = list(get_args(options[0]))
    inner = [
        option for option in options if isinstance(option, type) and issubclass(option, BaseModel)
    ]
    return inner[0] if len(inner) == 1 and component_registry(field) is None else None


def option_names(model: type[BaseModel]) -> list[str]:
    """Return the keys that a mapping for `model` may have."""
    return sorted(field.alias or name for name, field in model.model_fields.items())


def by_name(model: type[BaseModel], key: str) -> FieldInfo | None:
    """Return the field of `model` that scenarios call `key`."""
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            return field
    return None


def with_unit(field: FieldInfo | None, number: float) -> str:
    """Return how scenarios write a value of `field`, such as ``30%`` or ``10 min``."""
    marks: list[Any] = []
    if field is not None:
        options = get_args(field.annotation)
        marks += [*field.metadata, *(m for o in options for m in getattr(o, "__metadata__", ()))]
    for mark in marks:
        if isinstance(mark, Quantity | Share):
            return mark.dump(number)
    return f"{number:,}"


def component_registry(field: FieldInfo) -> Registry[Any] | None:
    """Return the registry whose components `field` takes, if it does."""
    return next((mark for mark in field.metadata if isinstance(mark, Registry)), None)
