"""What is wrong with a value, as the scenario's writer would say it: pydantic's errors in words."""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simfl.core.component import Component
from simfl.core.units.unit_hints import BETWEEN, NUMBERS
from simfl.core.words import LONGEST_TEXT
from simfl.errors import MEANT, NameNotFound, nearest
from simfl.scenario.fields import option_names, takes, with_unit
from simfl.scenario.language.place import Location
from simfl.scenario.language.yaml import NO_COLON
from simfl.scenario.parts.experiment import parse_seeds

SIGNS = tuple("*&!|>%@`")
"""What YAML takes for something else where text begins with it."""
_LISTS: Mapping[Location, str] = {
    ("fleet",): "a group of devices such as {count: 10}, or a list of them",
    ("seeds",): "seeds such as 0-4 or [0, 1]",
}
"""What may stand in place of a list."""
_EXPECTED = {
    "a whole number": ("int_type", "int_parsing", "int_from_float", "int_parsing_size"),
    "a number": ("float_type", "float_parsing"),
    "a finite number": ("finite_number",),
    "true or false": ("bool_type", "bool_parsing"),
    "text": ("string_type",),
    "the name of a file": ("path_type",),
    "a mapping": ("model_type", "model_attributes_type", "dict_type"),
    "a list": ("tuple_type", "list_type", "set_type"),
    "letters from A to Z or a to z, digits and any of ' ._+=()-', a letter or digit first": (
        "string_pattern_mismatch",
    ),
}
"""What was expected where pydantic raises errors of these types."""
_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
"""By type of error: how a number lies to its limit, and where pydantic tells the limit."""


def message_of(
    error: Mapping[str, Any],
    path: Location,
    model: type[BaseModel] | None,
    field: FieldInfo | None,
) -> str:
    """Return what was expected, and what was found.

    Args:
        error: pydantic's.
        path: where the value stands in the document.
        model: what a mapping there is for (None: not known, or it takes none).
        field: what the value is of (None: not known).
    """
    context = error.get("ctx") or {}
    kind, value = str(error["type"]), error.get("input")
    got = f", got {_short(value)}"
    if isinstance(not_found := context.get("error"), NameNotFound):
        left_out = _left_out(field)
        if left_out and str(not_found.name).lower() in ("none", left_out):
            return f"unknown {not_found.kind} {not_found.name!r}; left out, it is {left_out}"
        from simfl.scenario.reference.namesakes import with_namesakes  # has components imported

        return with_namesakes(not_found)
    if kind in ("value_error", "assertion_error"):
        return str(error["msg"]).partition(", ")[2]
    for expected, kinds in _EXPECTED.items():
        if kind in kinds:
            if expected == "a mapping" and model is not None and not _open(model):
                expected += f" with any of {', '.join(option_names(model))}"
            expected = _LISTS.get(path, expected) if expected == "a list" else expected
            if value is None and path[:-1] == ("variants",):
                expected = "a mapping, such as {} for the scenario as it is"
            return f"expected {expected}{got}{_rewriting(value, expected, field)}"
    if kind == "string_too_long":
        return f"expected at most {context['max_length']:,} characters, got {len(str(value)):,}"
    if kind in ("literal_error", "enum"):
        hint = nearest(str(value), re.findall("'([^']*)'", str(context["expected"])))
        hint = hint if hint.startswith(MEANT) else ""
        return f"expected {context['expected']}{got}{hint}"
    if kind in _BOUNDS:
        word, limit = _BOUNDS[kind]
        least_or_most = with_unit(field, context[limit])
        if isinstance(value, float) and math.isfinite(value):
            return f"must be {word} {least_or_most}, but got {with_unit(field, value)}"
        return f"must be {word} {least_or_most}, but got {_short(value)}"
    if kind == "too_short":
        return f"expected at least {context['min_length']} of them{got}"
    if kind == "too_long":
        return f"expected at most {context['max_length']:,} of them"
    return str(error["msg"])


def _left_out(field: FieldInfo | None) -> str:
    """Return what a field of components is where it is left out ("": it can't be).

    By a component's name; where it is none, as the field's description says it.
    """
    if field is None or field.is_required():
        return ""
    default = field.get_default(call_default_factory=True)
    if isinstance(default, Component):
        return repr(default.name)
    return (field.description or "").partition("omitted: ")[2]


def _open(model: type[BaseModel]) -> bool:
    """Whether a mapping may have other keys than the options of its `model`, as a sweep has."""
    return model.model_config.get("extra") == "allow"


def _rewriting(value: object, expected: str, field: FieldInfo | None) -> str:
    """Return how a value of `field` is to be written, if that is all that is wrong with it."""
    if "number" in expected:
        return _number_hint(value)
    if isinstance(value, str) and re.search(r":[{\[]", value):
        return f"; {NO_COLON}"
    one = isinstance(value, str | int | float) and not isinstance(value, bool)
    if str(value).endswith((".yaml", ".yml")) and expected == _LISTS[("fleet",)]:
        return "; paste the section `fleet` of that file here"  # such as `simfl calibrate` writes
    if expected == "a list" and one and len(str(value)) <= LONGEST_TEXT:
        item = _as_item(value, field)
        return f"; write it `[{item}]`" if item else ""
    return ""


def _as_item(value: object, field: FieldInfo | None) -> str:
    """Return what stands in the brackets of a list written without them ("": none takes it)."""
    if re.fullmatch(r"\d+ *- *\d+", str(value)):  # a range, as `seeds` have it
        with suppress(ValueError):
            numbers = [str(number) for number in parse_seeds(str(value))]
            return ", ".join(numbers if len(numbers) < 10 else [*numbers[:2], "...", numbers[-1]])
    if field is not None and not takes(field, [value]):
        return f"{value}%" if takes(field, [f"{value}%"]) else ""
    return f"'{value}'" if str(value).startswith(SIGNS) else str(value)


def _number_hint(value: object) -> str:
    """Return what keeps text of digits from being a number, if that is all."""
    if not isinstance(value, str) or not re.fullmatch(rf"\d+({BETWEEN}\d+)*", value):
        return ""
    return "; write it without quotes" if value.isdigit() else NUMBERS


def _short(value: object) -> str:
    if value is None or isinstance(value, dict):
        return "nothing" if value is None else "a mapping" if value else "an empty mapping"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."
