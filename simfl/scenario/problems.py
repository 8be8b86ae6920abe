"""What is wrong with a document: every problem at once, with its place and what would be right."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from simfl.core.registry import NESTED
from simfl.core.units.quantity import BETWEEN, NUMBERS
from simfl.core.words import LONGEST_TEXT
from simfl.errors import MEANT, NameNotFound, nearest
from simfl.scenario.document import Document, within
from simfl.scenario.fields import by_name, model_within, option_names, with_unit
from simfl.scenario.hints import Unknown, describes
from simfl.scenario.language.place import Key, Location, Place, dotted
from simfl.scenario.language.yaml_builder import MOST_PROBLEMS
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.fleet import Group
from simfl.scenario.parts.part import WORKED_OUT

SIGNS = tuple("*&!|>%@`")
"""What YAML takes for something else where text begins with it."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, as a path into the document and a message."""

    path: Location
    message: str
    at_key: bool = False


def truths_for_numbers(written: Any, read: Any, path: Location = ()) -> Iterator[Problem]:
    """Yield where a truth value was taken for a number, as Python would have it."""
    if isinstance(written, Mapping) and isinstance(read, Mapping):
        for key in written.keys() & read.keys():
            yield from truths_for_numbers(written[key], read[key], (*path, key))
    elif isinstance(read, list):
        items = written if isinstance(written, list) else [written]
        for index, (item, number) in enumerate(zip(items, read, strict=False)):
            inner = (*path, index) if items is written else path
            yield from truths_for_numbers(item, number, inner)
    elif isinstance(written, bool) and isinstance(read, int | float | str) and read is not written:
        yield Problem(path, f"expected a number, got {str(written).lower()}")


def explained(document: Document, error: ValidationError) -> list[Problem]:
    """Return what pydantic found wrong with `document`, as its writer would say it."""
    problems = _unfold(error.errors(include_url=False), (), Experiment, document.data)
    return merged(document, list(islice(problems, MOST_PROBLEMS)))


def lost_folder(folder: object) -> list[Problem]:
    """Say of a run from elsewhere that the folder of its files is not here, and what helps."""
    if not isinstance(folder, str | Path) or Path(folder).is_dir():
        return []
    told = f"there is no folder {folder}, where the files should be that the scenario names"
    return [Problem(("folder",), f"{told}; name here where they are")]


def first_message(error: ValidationError) -> str:
    """Return the first thing that pydantic found wrong with a value that stands in no document."""
    told = error.errors(include_url=False)[0]
    return _message(told, told.get("ctx") or {}, told["loc"], None, None)


def report(document: Document, problems: Sequence[Problem]) -> str:
    """Return a line for each problem, in the order of the file."""
    lines: set[tuple[Place, str]] = set()
    for problem in problems:
        place = document.place(within(document.data, problem.path)[0], key=problem.at_key)
        where = f"{dotted(problem.path)}: " if problem.path else ""
        lines.add((place, f"{place}: {where}{problem.message}"))
    return "\n".join(line for _, line in sorted(lines))


def _unfold(
    errors: Sequence[Any],
    prefix: Location,
    model: type[BaseModel] | None,
    data: Mapping[str, Any],
) -> Iterator[Problem]:
    """Yield the problems in pydantic's errors, those of nested components included."""
    unknown, lacking = (
        [error["loc"] for error in errors if error["type"] == kind]
        for kind in ("extra_forbidden", "missing")
    )
    for error in errors:
        path = (*prefix, *error["loc"])
        context = error.get("ctx") or {}
        if error["type"] == NESTED:
            yield from _unfold(context["errors"], path, context.get("model"), data)
        elif error["type"] == "extra_forbidden":
            *above, key = error["loc"]
            missing = [str(loc[-1]) for loc in lacking if list(loc[:-1]) == above]
            told = Unknown(path, error["input"], _below(model, above), missing)
            yield Problem(path, f"unknown key {str(key)!r}{told.hint(data)}", at_key=True)
        elif error["type"] == "too_short" and len(error["input"]):
            continue  # its items are wrong, and told of themselves
        elif error["type"] == "missing":
            *above, key = error["loc"]
            misspelt = [str(loc[-1]) for loc in unknown if list(loc[:-1]) == above]
            owner = _below(model, above)
            told_there = any(describes(owner, str(key), word) for word in misspelt)
            if not told_there and not get_close_matches(str(key), misspelt, n=1):
                yield Problem(path[:-1], f"missing key {str(key)!r}{_when_worked_out(owner, key)}")
        else:
            owner = _below(model, error["loc"][:-1])
            field = None if owner is None or not path else by_name(owner, str(path[-1]))
            message = _message(error, context, path, _below(model, error["loc"]), field)
            named = path[-1:] == ("[key]",)  # as pydantic says that the key itself is wrong
            yield Problem(path[:-1] if named else path, message, at_key=named)


def _when_worked_out(owner: type[BaseModel] | None, key: Key) -> str:
    """Return when a key can be left out, of one that sometimes can."""
    field = None if owner is None else by_name(owner, str(key))
    return "" if field is None or WORKED_OUT not in field.metadata else f": {field.description}"


def _below(model: type[BaseModel] | None, path: Sequence[Key]) -> type[BaseModel] | None:
    """Return the model of what stands at a path of `model`'s mapping (None: not known)."""
    named = tuple(key for key in path if isinstance(key, str))
    if model is not None and issubclass(model, Experiment) and named[:1] == ("fleet",):
        return model_within(Group, named[1:])
    return None if model is None else model_within(model, named)


def _open(model: type[BaseModel]) -> bool:
    """Whether a mapping may have other keys than the options of its `model`, as a sweep has."""
    return model.model_config.get("extra") == "allow"


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


def _message(
    error: Mapping[str, Any],
    context: Mapping[str, Any],
    path: Location,
    model: type[BaseModel] | None,
    field: FieldInfo | None,
) -> str:
    """Return what was expected at `path`, a mapping for `model` if any, and what was found.

    The value is of `field`, where that is known.
    """
    kind, value = str(error["type"]), error.get("input")
    got = f", got {_short(value)}"
    if isinstance(not_found := context.get("error"), NameNotFound):
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
            return f"expected {expected}{got}{_rewriting(value, expected)}"
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


def _rewriting(value: object, expected: str) -> str:
    """Return how a value is to be written, if that is all that is wrong with it."""
    if "number" in expected:
        return _number_hint(value)
    one = isinstance(value, str | int | float) and not isinstance(value, bool)
    if str(value).endswith((".yaml", ".yml")) and expected == _LISTS[("fleet",)]:
        return "; paste the section `fleet` of that file here"  # such as `simfl calibrate` writes
    if expected == "a list" and one and len(str(value)) <= LONGEST_TEXT:
        written = f"'{value}'" if str(value).startswith(SIGNS) else value
        return f"; write it `[{written}]`"
    return ""


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


_OTHER_KIND = re.compile("expected a (list|mapping)[^,]*, got ")


def merged(document: Document, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems, those of a union's members (whose paths lead beyond the data) as one.

    Where the value is of the kind that a member wants, what others would want is left out.
    """
    plain: list[Problem] = []
    beyond: dict[Location, dict[str, None]] = {}
    for problem in problems:
        real, rest = within(document.data, problem.path)
        if rest:
            beyond.setdefault(real, {})[problem.message] = None
        else:
            plain.append(replace(problem, path=real))
    for real, messages in beyond.items():
        meant = [message for message in messages if not _OTHER_KIND.match(message)]
        plain.append(Problem(real, "; or ".join(meant or messages)))
    return plain
