"""What one key takes, for people: its type, bounds, units and default."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, PlainValidator
from pydantic.fields import FieldInfo

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.target import TargetText
from simfl.core.units import Quantity, Share
from simfl.core.units.share_range import ShareRange
from simfl.scenario.distributions.base import OfTheNumber
from simfl.scenario.parts.device_number import Drawn
from simfl.scenario.parts.part import WorkedOut


@dataclass(frozen=True)
class Option:
    """One option of a component.

    Attributes:
        name: its key.
        type: what it takes, with bounds.
        default: as a scenario would write it; None with `required`.
        required: whether it must be given.
        unit: units that fit, or "".
        description: what it does.
    """

    name: str
    type: str
    default: Any
    required: bool
    unit: str
    description: str


def options(model: type[BaseModel]) -> list[Option]:
    """Return the keys of a component or of a scenario's part, its own before inherited ones."""
    own = [name for name in model.model_fields if name in model.__annotations__]
    names = [*own, *(name for name in model.model_fields if name not in own)]
    return [option_of(name, model.model_fields[name]) for name in names]


def option_of(name: str, field: FieldInfo) -> Option:
    """Return the key that a `field`, called `name` in its class, is in a scenario."""
    worked_out = any(isinstance(mark, WorkedOut) for mark in field.metadata)
    unknown = worked_out or field.is_required()
    default = None if unknown else field.get_default(call_default_factory=True)
    return Option(
        name=field.alias or name,
        type=_type(field),
        default=_plain(default, field),
        required=field.is_required() and not worked_out,
        unit=", ".join(unit for m in _marks(field) if not isinstance(m, Share) for unit in m.units),
        description=" ".join((field.description or "").split()),
    )


def option_lines(option: Option) -> str:
    """Return what an option is as text, its name first."""
    default = "required" if option.required else f"default {_yaml(option.default)}"
    kind = f": {option.type}" if option.type else ""
    units = f"; units: {option.unit}" if option.unit else ""
    text = textwrap.indent(textwrap.fill(f"{option.description}{units}", 90), " " * 6)
    return f"  {option.name}{kind} ({default})\n{text}".rstrip()


def is_drawn(field: FieldInfo) -> bool:
    """Return whether a distribution can stand for what a `field` takes."""
    return any(isinstance(mark, Drawn) for mark in _marks(field))


def _type(field: FieldInfo) -> str:
    for mark in field.metadata:
        if isinstance(mark, Registry):
            return f"{mark.one}, by name or with options"
        if isinstance(mark, Drawn):
            return f"{mark.name}, or a distribution"
        if isinstance(mark, Quantity):
            return mark.dimension.name
        if isinstance(mark, OfTheNumber):
            return "quantity"
        if isinstance(mark, Share):
            return "a share, such as 30% or 0.3"
        if isinstance(mark, TargetText):
            return f"a target, such as {' or '.join(mark.examples)}"
        if isinstance(mark, PlainValidator):
            return ""  # its description says what it takes
    text = _annotation(field.annotation)
    bounds = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    limits = [
        f"{sign} {getattr(mark, name)}"
        for mark in field.metadata
        for name, sign in bounds.items()
        if getattr(mark, name, None) is not None
    ]
    number = text.removesuffix(" | null")
    comma = "," if limits and "such as" in number else ""
    return f"{number}{comma} {', '.join(limits)}".strip() + text[len(number) :]


def _annotation(annotation: Any) -> str:
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}
    if annotation in names:
        return names[annotation]
    if annotation in (None, NoneType):
        return "null"
    if annotation is ShareRange:
        return "{min, max}"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin in (tuple, list):
        return f"list of {_annotation(arguments[0])}" if arguments else "list"
    if origin is dict:
        return "mapping"
    if hasattr(annotation, "__metadata__"):
        return _type(FieldInfo.from_annotation(annotation))
    if arguments:
        return " | ".join(_annotation(argument) for argument in arguments)
    return str(getattr(annotation, "__name__", annotation))


def _plain(value: Any, field: FieldInfo) -> Any:
    """Return a default as a scenario would write it."""
    if isinstance(value, Component):
        return value.name
    for mark in _marks(field):
        if isinstance(mark, Quantity | Share) and isinstance(value, int | float):
            return mark.dump(value)
        if isinstance(mark, Drawn):
            return None if value is None else mark.dump(value)
    if isinstance(value, tuple | list):
        return list(value)
    return value if isinstance(value, str | int | float | NoneType) else str(value)


def _marks(field: FieldInfo) -> list[Quantity | Share | Drawn]:
    """Return what says how a field's numbers are written, also where it may be null instead."""
    annotated = [field, *map(FieldInfo.from_annotation, get_args(field.annotation))]
    marks = [mark for part in annotated for mark in part.metadata]
    return [mark for mark in marks if isinstance(mark, Quantity | Share | Drawn)]


def _yaml(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
