"""What kind of thing stands where in a run's scenario, so far as somebody counts on it.

Whoever only tells of a run reads its scenario as plain data: users' code is not imported, and what
another version wrote need not be known.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from simfl.errors import InputError
from simfl.scenario.language.place import Location, dotted
from simfl.scenario.language.yaml import read_yaml

ANY = "*"
"""Each item of a list, or each value of a mapping."""


class _Kind(NamedTuple):
    """What is expected somewhere, if there is anything.

    Attributes:
        words: what messages call it.
        fits: returns whether a value is that.
    """

    words: str
    fits: Callable[[Any], bool]


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_positive(value: Any) -> bool:
    return _is_count(value) and value > 0


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and isinstance(value.get("name"), str)
    )


_TEXT = _Kind("text", _is(str))
_COUNT, _POSITIVE = _Kind("a whole number", _is_count), _Kind("a whole number", _is_positive)
_LIST, _MAPPING = _Kind("a list", _is(list)), _Kind("a mapping", _is(dict))
_PART = _Kind("a name, or a mapping with a name", _is_part)

OF_SCENARIO: Mapping[tuple[str, ...], _Kind] = {
    ("name",): _TEXT,
    ("description",): _TEXT,
    ("folder",): _TEXT,
    ("fleet",): _LIST,
    ("fleet", ANY): _MAPPING,
    ("fleet", ANY, "count"): _COUNT,
    ("fleet", ANY, "availability"): _PART,
    ("fleet", ANY, "attack"): _PART,
    ("fleet", ANY, "attack", "from_round"): _COUNT,
    ("network", "cells"): _MAPPING,
    ("network", "cells", ANY): _MAPPING,
    ("training", "batch_size"): _POSITIVE,
    ("rounds", "policy"): _PART,
    ("rounds", "policy", "enforce"): _Kind("true or false", _is(bool)),
    ("evaluation", "every"): _POSITIVE,
    ("evaluation", "targets"): _LIST,
    ("evaluation", "metrics"): _LIST,
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
    for path, kind in OF_SCENARIO.items():
        for place, value in _at(scenario, path):
            if value is not None and not kind.fits(value):
                _, marks = read_yaml(text, source)
                at = marks[place].value if place in marks else source
                told = repr(value)
                told = told if len(told) < 50 else f"{told[:50]}..."
                raise InputError(
                    f"{at}: is damaged: {dotted(place)}: expected {kind.words}, got {told}"
                )


def _at(value: Any, path: tuple[str, ...], before: Location = ()) -> Iterator[tuple[Location, Any]]:
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
