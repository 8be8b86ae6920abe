"""What may stand where in a scenario: its schema, walked by path."""

import types
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simfl.core.registry import Registry
from simfl.scenario.experiment import Experiment
from simfl.scenario.fleet import Group
from simfl.scenario.place import Location


def is_part(path: Location) -> bool:
    """Return whether a part of the scenario, a mapping with fixed keys, is at `path`."""
    return path != ("fleet",) and model_within(*_start(path)) is not None


def is_component(path: Location) -> bool:
    """Return whether a component is at `path`."""
    model, rest = _start(path)
    parent = model_within(model, rest[:-1])
    field = by_name(parent, str(rest[-1])) if rest and parent is not None else None
    return field is not None and component_registry(field) is not None


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
        options = [field.annotation] if field is not None else []
        if options and get_origin(options[0]) in (Union, types.UnionType):
            options = list(get_args(options[0]))
        inner = [
            option
            for option in options
            if isinstance(option, type) and issubclass(option, BaseModel)
        ]
        if field is None or len(inner) != 1 or component_registry(field) is not None:
            return None
        model = inner[0]
    return model


def option_names(model: type[BaseModel]) -> list[str]:
    """Return the keys that a mapping for `model` may have."""
    return sorted(field.alias or name for name, field in model.model_fields.items())


def by_name(model: type[BaseModel], key: str) -> FieldInfo | None:
    """Return the field of `model` that scenarios call `key`."""
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            return field
    return None


def component_registry(field: FieldInfo) -> Registry[Any] | None:
    """Return the registry whose components `field` takes, if it does."""
    return next((mark for mark in field.metadata if isinstance(mark, Registry)), None)
