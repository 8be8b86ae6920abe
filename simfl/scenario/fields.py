"""What one field of the scenario's schema takes: a mapping, components, a value with a unit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from simfl.core.code import is_code
from simfl.core.registry import Registry
from simfl.core.units.fields import Quantity, Share
from simfl.scenario.distributions.base import ANY_NUMBER
from simfl.scenario.language.place import Key, Location
from simfl.scenario.parts.part import Part

_STEPS: Mapping[Any, str] = {Union: "", UnionType: "", Annotated: "", dict: ".*"}
"""How a path leads into what an annotation holds; one of anything else holds a list."""


def option_names(model: type[BaseModel]) -> list[str]:
    """Return the keys that a mapping for `model` may have."""
    return sorted(field.alias or name for name, field in model.model_fields.items())


def by_name(model: type[BaseModel], key: str) -> FieldInfo | None:
    """Return the field of `model` that scenarios call `key`."""
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            return field
    return None


def model_within(model: type[BaseModel], path: Location) -> type[BaseModel] | None:
    """Return the model of the mapping that is at `path` of `model`, if it is one known before."""
    for key in path:
        field = by_name(model, str(key))
        inner = None if field is None else mapping_of(field)
        if inner is None:
            return None
        model = inner
    return model


def mapping_at(model: type[BaseModel] | None, path: Sequence[Key]) -> type[BaseModel] | None:
    """Return the model of the mapping at `path` of `model`, as pydantic's errors have it.

    As `model_within`, but through lists and names of the user's own, too, which are in such a path,
    as is what kind of value was meant of several that may stand there.
    """
    steps = iter(path)
    for key in steps:
        if model is None:
            break
        if str(key).endswith((model.__name__, f", {model.__name__}]")):
            continue
        field = by_name(model, str(key))
        inner = None if field is None else mapping_of(field)
        if field is not None and inner is None:
            part, items = part_of(field)
            inner = part if items and next(steps, None) is not None else None
        model = inner
    return model


def mapping_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of the mapping that a field takes (None: components, several, or none)."""
    directly = [held for held, items in _held(field.annotation, field.metadata) if not items]
    [model] = directly if len(directly) == 1 else [None]
    return None if isinstance(model, Registry) else model


def part_of(field: FieldInfo) -> tuple[type[Part] | None, str]:
    """Return the part that a field holds, and how a path leads into it (None: it holds none).

    ``[]`` through the items of a list, ``.*`` through names of the user's own, else not at all.
    """
    for held, items in _held(field.annotation, field.metadata):
        if isinstance(held, type) and issubclass(held, Part):
            return held, items
    return None, ""


def components_of(field: FieldInfo) -> tuple[Registry[Any] | None, str]:
    """Return the registry of the components that a field holds, and how a path leads to them."""
    for held, items in _held(field.annotation, field.metadata):
        if isinstance(held, Registry):
            return held, items
    return None, ""


def _held(
    annotation: Any, marks: Iterable[Any] = (), items: str = ""
) -> Iterator[tuple[type[BaseModel] | Registry[Any], str]]:
    """Yield what may stand in a field: models of mappings, and registries of components.

    Args:
        annotation: of the field, or of a part of it.
        marks: what it is annotated with.
        items: how a path leads there, see `part_of`.
    """
    registry = next((mark for mark in marks if isinstance(mark, Registry)), None)
    if registry is not None:
        yield registry, items
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, items
    else:
        step = _STEPS.get(get_origin(annotation), "[]")
        for inner in get_args(annotation):
            yield from _held(inner, getattr(inner, "__metadata__", ()), items + step)


def fits(field: FieldInfo, value: Any) -> bool:
    """Return whether a field may take such a value: only a mapping or a list fills a part."""
    return part_of(field)[0] is None or isinstance(value, Mapping | list)


def takes(field: FieldInfo, value: Any) -> bool:
    """Return whether a field may take a value; of what fills a part or a component `fits` tells.

    Of a distribution's numbers any will do: only the field that is drawn knows their units.
    """
    parts = part_of(field)[0] is not None or components_of(field)[0] is not None
    if is_code(value) or (parts and isinstance(value, Mapping | list)):
        return fits(field, value)
    try:
        TypeAdapter(field.rebuild_annotation()).validate_python(value, context=ANY_NUMBER)
    except ValidationError:
        return False
    return True


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
