"""The scenario language as a JSON Schema, so that editors complete and check scenarios."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from simfl.scenario.describe import summary
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.fields import component_registry
from simfl.scenario.kinds import KINDS, registry
from simfl.scenario.named import COMPONENT
from simfl.scenario.scenario import Scenario

_NOISE = ("title", "gt", "ge", "lt", "le")
"""Titles repeat the key; bounds of quantities are bounds of numbers, and these are text."""
_REF = "#/$defs/{model}"
_CLASS = {"type": "string", "pattern": "^[A-Za-z_][\\w.]*:[A-Za-z_]\\w*$"}
"""A component of somebody else's, as ``module:Class``."""


class _Lenient(GenerateJsonSchema):
    """Lets anything stand where a component's own type has no JSON Schema."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {}

    def emit_warning(self, kind: Any, detail: str) -> None:
        """A default that JSON can't hold is left out, which is no news to the user."""


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario."""
    schema = _model(Scenario)
    definitions = schema.setdefault("$defs", {})
    for kind in KINDS:
        if kind != "executors":
            definitions[kind] = _components(kind)
    definitions["distributions"] = _distributions()
    # What validators make of shorter ways to write things: one group, a range, a name, nothing.
    schema["properties"]["fleet"] = {
        "anyOf": [{"$ref": "#/$defs/Group"}, schema["properties"]["fleet"]]
    }
    schema["properties"]["seeds"] = {
        "anyOf": [schema["properties"]["seeds"], {"type": "string", "pattern": "^[0-9, -]+$"}]
    }
    definitions["Data"]["required"].remove("partition")
    _shorten_group(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_tidy(schema),
        "title": "simfl scenario",
    }


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
    """Return the schema of a component: its name, or a mapping with its name and options."""
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
            if (inner := component_registry(field)) is not None:
                kinds = [each for each in KINDS if registry(each) is inner]
                properties[field.alias or field_name] = {COMPONENT: kinds[0]}
        mapped.append(
            {
                "type": "object",
                "description": text,
                "properties": {"name": {"const": name}, **properties},
                "required": ["name", *own.get("required", [])],
                "additionalProperties": False,
            }
        )
    if members.default is not None:
        mapped[members.names().index(members.default)]["required"].remove("name")
    foreign = {"type": "object", "properties": {"name": _CLASS}, "required": ["name"]}
    return {"title": members.kind, "oneOf": [*named, _CLASS, *mapped, foreign]}


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
    variants = []
    for name, draw in DISTRIBUTIONS.items():
        own = _model(draw)
        variants.append(
            {
                "type": "object",
                "description": own.get("description", ""),
                "properties": {"distribution": {"const": name}, **own.get("properties", {})},
                "required": ["distribution", *own.get("required", [])],
                "additionalProperties": False,
            }
        )
    return {"title": "distribution", "oneOf": variants}


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
