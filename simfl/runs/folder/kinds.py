"""What kind of thing stands where in a run's files, so far as somebody counts on it.

Whoever only tells of a run reads its scenario as plain data: users' code is not imported, and what
another version wrote need not be known.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE, SUMMARY

if TYPE_CHECKING:
    from simfl.scenario.language.place import Location

ANY = "*"
"""Each item of a list, or each value of a mapping."""


class _Kind(NamedTuple):
    """What is expected somewhere, if there is anything.

    Attributes:
        words: what messages call it.
        fits: returns whether a value is that.
        of: the name of the component whose option it is; another's is its own affair ("": of any).
    """

    words: str
    fits: Callable[[Any], bool]
    of: str = ""

    def or_null(self) -> "_Kind":
        """Return the kind of what may also not be known."""
        return _Kind(f"{self.words} or null", lambda value: value is None or self.fits(value))


_Kinds = Mapping[tuple[str, ...], _Kind]


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -math.inf < value < math.inf


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and isinstance(value.get("name"), str)
    )


def _is_fork(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("at_s"), float)


_TEXT, _BOOLEAN = _Kind("text", _is(str)), _Kind("true or false", _is(bool))
_LIST, _MAPPING = _Kind("a list", _is(list)), _Kind("a mapping", _is(dict))
_NUMBER = _Kind("a number", _is_number)
_INTEGER, _COUNT = _Kind("a whole number", _is(int)), _Kind("a whole number", _is_count)
_POSITIVE = _Kind("a whole number", lambda value: _is_count(value) and value > 0)
_PART = _Kind("a name, or a mapping with a name", _is_part)

_OF_SCENARIO: _Kinds = {
    ("name",): _TEXT,
    ("description",): _TEXT,
    ("folder",): _TEXT,
    ("fleet",): _LIST,
    ("fleet", ANY): _MAPPING,
    ("fleet", ANY, "count"): _COUNT,
    ("fleet", ANY, "availability"): _PART,
    ("fleet", ANY, "attack"): _PART,
    ("fleet", ANY, "attack", "from_round"): _COUNT,
    ("network", "cells"): _MAPPING._replace(of="shared"),
    ("network", "cells", ANY): _MAPPING._replace(of="shared"),
    ("training", "batch_size"): _POSITIVE,
    ("rounds", "policy"): _PART,
    ("rounds", "policy", "enforce"): _BOOLEAN._replace(of="synchronous"),
    ("evaluation", "every"): _POSITIVE,
    ("evaluation", "targets"): _LIST,
    ("evaluation", "metrics"): _LIST,
}
_OF_JSON: Mapping[str, _Kinds] = {
    SUMMARY: {
        ("virtual_time_s",): _NUMBER,
        ("rounds",): _INTEGER,
        ("abandoned_rounds",): _INTEGER,
        ("totals",): _MAPPING,
        ("totals", ANY): _NUMBER.or_null(),
        ("participations",): _MAPPING,
        ("participations", ANY): _INTEGER,
        ("participation_gini",): _NUMBER,
        ("trainings",): _MAPPING,
        ("trainings", ANY): _INTEGER,
        ("last_evaluation",): _MAPPING.or_null(),
        ("last_evaluation", "round"): _INTEGER,
        ("last_evaluation", ANY): _NUMBER.or_null(),
        ("targets",): _MAPPING,
        ("targets", ANY): _MAPPING.or_null(),
        ("targets", ANY, ANY): _NUMBER.or_null(),
        ("privacy",): _MAPPING,
        ("privacy", "delta"): _NUMBER,
        ("privacy", "epsilon"): _NUMBER.or_null(),
        ("privacy", "epsilon_poisson"): _NUMBER.or_null(),
    },
    PROVENANCE: {
        ("variant",): _TEXT,
        ("seed",): _INTEGER,
        ("time_only",): _BOOLEAN,
        ("oracle",): _BOOLEAN,
        ("powered",): _BOOLEAN,
        ("device",): _TEXT,
        ("scenario_sha256",): _TEXT,
        ("forks",): _LIST,
        ("forks", ANY): _Kind("a mapping with a number `at_s`", _is_fork),
        ("log",): _TEXT,
        ("host_s",): _NUMBER,
        ("factors",): _MAPPING,
        ("place",): _INTEGER,
        ("study",): _MAPPING,
        ("study", "variants"): _LIST,
        ("study", "variants", ANY): _TEXT,
        ("study", "seeds"): _LIST,
        ("study", "seeds", ANY): _INTEGER,
        ("files",): _MAPPING,
        ("files", ANY): _TEXT,
        ("failed",): _MAPPING,
        ("assumed",): _LIST,
        ("cautions",): _LIST,
        ("unpowered",): _LIST,
        ("clients",): _LIST,
        ("clients", ANY): _TEXT,
        ("judged_on",): _INTEGER,
    },
}


def require_sound(scenario: Any, text: str, source: str) -> None:
    """Refuse a run's scenario in which something stands that is not what all count on.

    Args:
        scenario: as plain data.
        text: the YAML that it was read from.
        source: what messages call that.

    Raises:
        InputError: naming the first such thing, and where it stands.
    """
    from simfl.scenario.language.yaml import read_yaml

    for place, why in _wrong(scenario, _OF_SCENARIO, or_null=True):
        _, marks = read_yaml(text, source)
        at = marks[place].value if place in marks else source
        raise InputError(f"{at}: is damaged: {why}")


def require_sound_json(content: Any, path: Path, cure: str) -> None:
    """Refuse a JSON file of a run likewise.

    Args:
        content: what it holds.
        path: of the file.
        cure: what may be done about it; ends the message.

    Raises:
        InputError: naming the first such thing.
    """
    for _, why in _wrong(content, _OF_JSON.get(path.name, {})):
        raise InputError(f"{path} is damaged: {why}{cure}")


def _wrong(content: Any, kinds: _Kinds, or_null: bool = False) -> "Iterator[tuple[Location, str]]":
    """Yield where something stands that is not of its kind, and what is wrong with it."""
    for path, kind in kinds.items():
        if kind.of and kind.of not in _names_above(content, path):
            continue
        for place, value in _at(content, path):
            if kind.fits(value) or (or_null and value is None):
                continue
            from simfl.scenario.language.place import dotted  # slow: sound runs are read without it

            told = repr(value)
            told = told if len(told) < 50 else f"{told[:50]}..."
            yield place, f"{dotted(place)}: expected {kind.words}, got {told}"


def _names_above(content: Any, path: tuple[str, ...]) -> list[Any]:
    """Return the names of what a path leads through, but that of the scenario, which is no kind."""
    places = [(*path[:end], "name") for end in range(1, len(path))]
    return [name for place in places for _, name in _at(content, place)]


def _at(
    value: Any, path: tuple[str, ...], before: "Location" = ()
) -> "Iterator[tuple[Location, Any]]":
    """Yield what stands at a path, and where exactly; nothing, where there is none."""
    if not path:
        yield before, value
        return
    key, *rest = path
    if isinstance(value, Mapping):
        keys: list[Any] = [*value] if key == ANY else [key] if key in value else []
    else:
        keys = [*range(len(value))] if key == ANY and isinstance(value, list) else []
    for own in keys:
        yield from _at(value[own], tuple(rest), (*before, own))
