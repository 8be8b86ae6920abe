"""The scenario language as a JSON Schema, so that editors complete and check scenarios."""

import math
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from simfl.core.named_options import COMPONENT
from simfl.core.registry import Registry
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.parts.catalogue import catalogue
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.reference.describe import summary
from simfl.scenario.reference.kinds import KINDS, registry

_NOISE = ("title", "gt", "ge", "lt", "le")
"""Titles repeat the key; bounds of quantities are bounds of numbers, and these are text."""
_REF = "#/$defs/{model}"
_CLASS = {"type": "string", "pattern": "^[A-Za-z_][\\w.]*:[A-Za-z_]\\w*$"}
"""A component of somebody else's, as ``module:Class``."""


class _Lenient(GenerateJsonSchema):
    """Lets anything stand where a component's own type has no JSON Schema."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {}

    def get_default_value(self, schema: Any) -> Any:
        """Quantities and shares are defaults as a scenario would write them, with their unit."""
        value = super().get_default_value(schema)
        serializer = schema["schema"].get("serialization", {})
        if isinstance(value, int | float) and serializer.get("type") == "function-plain":
            return serializer["function"](value)
        return value

    def encode_default(self, dft: Any) -> Any:
        """JSON has no infinity; the only one that a scenario has is a link without a limit."""
        return "unlimited" if dft == math.inf else super().encode_default(dft)

    def emit_warning(self, kind: Any, detail: str) -> None:
        """A default that JSON can't hold is left out, which is no news to the user."""


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario."""
    schema = _model(Experiment)
    definitions = schema.setdefault("$defs", {})
    for kind in KINDS:
        if kind != "executors":
            definitions[kind] = _components(kind)
    definitions["distributions"] = _distributions()
    # What validators make of shorter ways to write things: one group, a seed, a range, a name.
    schema["properties"]["fleet"] = {
        "anyOf": [{"$ref": "#/$defs/Group"}, schema["properties"]["fleet"]]
    }
    schema["properties"]["seeds"] = {
        "anyOf": [
            seeds := schema["properties"]["seeds"],
            seeds["items"],
            {"type": "string", "pattern": "^[0-9, -]+$"},
        ]
    }
    definitions["Data"]["required"].remove("partition")
    _shorten_group(definitions)
    devices = [
        {"const": name, "description": device.description} for name, device in catalogue().items()
    ]
    definitions["Group"]["properties"]["device"]["anyOf"] = [*devices, {"type": "null"}]
    definitions["variant"] = _variant(schema)
    _swept(definitions["Sweep"], definitions["variant"])
    (variant,) = schema["properties"]["variants"]["patternProperties"]
    schema["properties"]["variants"]["patternProperties"][variant] = {"$ref": "#/$defs/variant"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_tidy(schema),
        "title": "simfl scenario",
    }


def _variant(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of what a variant changes, by path.

    Keys are completed and values checked for every path through the scenario's parts
    (``rounds.stop.time``), and for paths into groups of devices; paths into a component's options
    are open.
    """
    group = schema["$defs"]["Group"]["properties"]
    return {
        "type": "object",
        "properties": dict(_paths(schema, schema["properties"], "")),
        "patternProperties": {
            rf"^fleet(\.[^.]+|\[\d+\])?\.{re.escape(key)}$": _changed(value)
            for key, value in group.items()
        },
    }


def _swept(sweep: dict[str, Any], variant: dict[str, Any]) -> None:
    """Let a sweep have lists of what a variant may have."""

    def listed(values: dict[str, Any]) -> dict[str, Any]:
        return {
            path: {"type": "array", "minItems": 1, "items": value} for path, value in values.items()
        }

    paths = {key: listed(variant[key]) for key in ("properties", "patternProperties")}
    several = {"type": "array", "minItems": 1}
    together = sweep["properties"]["zip"]
    together |= {**paths, "additionalProperties": several}
    sweep["properties"] |= paths["properties"]
    sweep |= {"patternProperties": paths["patternProperties"], "additionalProperties": several}


def _paths(
    schema: dict[str, Any], properties: dict[str, Any], above: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, value in properties.items():
        if above or key not in ("fleet", "seed", "seeds", "sweep", "tune", "variants"):
            part = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
            yield f"{above}{key}", {} if "properties" in part else _changed(value)
            yield from _paths(schema, part.get("properties", {}), f"{above}{key}.")


def _changed(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a changed value: whole, or a mapping of only what differs."""
    merged = {"type": "object", "not": {"anyOf": [{"required": ["name"]},
                                                  {"required": ["distribution"]}]}}  # fmt: skip
    return {"anyOf": [value, merged, {"type": "null"}]}


def _shorten_group(definitions: dict[str, Any]) -> None:
    """Let a group with a trace be without a count, and lists of one be written without a list."""
    group, trace = definitions["Group"], definitions["DeviceTrace"]["properties"]
    group["required"].remove("count")
    for parent, key in ((group["properties"], "trace"), (trace["where"], "additionalProperties")):
        parent[key] = {"anyOf": [parent[key]["items"], parent[key]]}
    group["properties"]["battery"] = {
        "anyOf": [group["properties"]["battery"], definitions["Battery"]["properties"]["capacity"]]
    }


def _model(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(
        by_alias=True, ref_template=_REF, schema_generator=_Lenient, mode="validation"
    )


def _components(kind: str) -> dict[str, Any]:
    """Return the schema of a component: its name, or a mapping with its name and options.

    By its name alone if nothing else must be given.
    """
    members = registry(kind)
    named: list[dict[str, Any]] = []
    mapped: list[dict[str, Any]] = []
    for name in members.names():
        component = members.get(name)
        text = summary(component)
        named.append({"const": name, "description": text})
        own = _model(component)
        nested = own.pop("$defs", {})
        properties = _inlined(own.get("properties", {}), nested)
        for field_name, field in component.model_fields.items():
            for mark in field.metadata:
                if isinstance(mark, Registry):
                    properties[field.alias or field_name] = {COMPONENT: mark.plural}
        mapped.append(
            {
                "type": "object",
                "description": text,
                "properties": {"name": {"const": name}, **properties},
                "required": ["name", *own.get("required", [])],
                "additionalProperties": False,
            }
        )
    by_name = dict(zip(members.names(), mapped, strict=True))
    mapping = _told_by("name", [*named, _CLASS], by_name, members.default)
    alone = [each for each in named if by_name[each["const"]]["required"] == ["name"]]
    return {"title": members.kind, "anyOf": [*alone, _CLASS, mapping]}


def _told_by(
    key: str, names: list[dict[str, Any]], mapped: dict[str, dict[str, Any]], default: str | None
) -> dict[str, Any]:
    """Return the schema of a mapping whose `key` says which of `mapped` it is.

    By conditions and not by `oneOf`, of which editors complete only what lacks the fewest keys.
    """
    conditions = [
        {"if": {"properties": {key: {"const": name}}, "required": [key]}, "then": member}
        for name, member in mapped.items()
    ]
    schema: dict[str, Any] = {"type": "object", "properties": {key: {"anyOf": names}}}
    if default is None:
        schema["required"] = [key]
    else:
        member = {**mapped[default], "required": mapped[default]["required"][1:]}
        conditions.append({"if": {"not": {"required": [key]}}, "then": member})
    return schema | {"allOf": conditions}


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return `schema` with references to a component's own definitions written out."""
    if isinstance(schema, dict):
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name in definitions:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return {**_inlined(definitions[name], definitions), **rest}
        return {key: _inlined(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inlined(value, definitions) for value in schema]
    return schema


def _distributions() -> dict[str, Any]:
    names, mapped = [], {}
    for name, draw in DISTRIBUTIONS.items():
        own = _model(draw)
        text = own.get("description", "")
        names.append({"const": name, "description": text})
        mapped[name] = {
            "type": "object",
            "description": text,
            "properties": {"distribution": {"const": name}, **own.get("properties", {})},
            "required": ["distribution", *own.get("required", [])],
            "additionalProperties": False,
        }
    return {"title": "distribution", **_told_by("distribution", names, mapped, None)}


def _tidy(schema: Any) -> Any:
    """Return `schema` with components as references and without titles that repeat a key."""
    if isinstance(schema, list):
        return [_tidy(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    tidy: dict[str, Any] = {}
    for key, inner in schema.items():
        if key in ("properties", "$defs"):
            tidy[key] = {name: _tidy(value) for name, value in inner.items()}
        elif key == COMPONENT:
            tidy["$ref"] = f"#/$defs/{inner}"
        elif key not in _NOISE and not (key == "default" and inner is None):
            tidy[key] = _tidy(inner)
    return tidy
