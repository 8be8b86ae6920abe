"""What kind of thing stands at the keys of a run's JSON files, so far as somebody counts on it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

Kinds = Mapping[str, Callable[[Any], bool]]


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -math.inf < value < math.inf


def _are_numbers(value: Any) -> bool:
    """Whether `value` is an object of numbers, some of which may be unknown (null)."""
    return isinstance(value, dict) and all(n is None or _is_number(n) for n in value.values())


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(n, int) for n in value.values())


def _is_evaluation(value: Any) -> bool:
    return value is None or (_are_numbers(value) and isinstance(value.get("round"), int))


def _is_privacy(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return _are_numbers({name: n for name, n in value.items() if name != "why_none"})


def _are_targets(value: Any) -> bool:
    return isinstance(value, dict) and all(n is None or _are_numbers(n) for n in value.values())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _are_forks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(fork, dict) and isinstance(fork.get("at_s"), float) for fork in value
    )


OF_SUMMARY: Kinds = {
    "virtual_time_s": _is_number,
    "rounds": _is(int),
    "abandoned_rounds": _is(int),
    "totals": _are_numbers,
    "participations": _are_counts,
    "participation_gini": _is_number,
    "trainings": _are_counts,
    "last_evaluation": _is_evaluation,
    "targets": _are_targets,
    "privacy": _is_privacy,
}
OF_PROVENANCE: Kinds = {
    "variant": _is(str),
    "seed": _is(int),
    "time_only": _is(bool),
    "oracle": _is(bool),
    "powered": _is(bool),
    "device": _is(str),
    "scenario_sha256": _is(str),
    "forks": _are_forks,
    "log": _is(str),
    "host_s": _is_number,
    "factors": _is(dict),
    "assumed": _is(list),
    "cautions": _is(list),
    "unpowered": _is(list),
    "clients": _are_texts,
    "judged_on": _is(int),
}
IN_EVERY_PROVENANCE = ("variant", "seed", "time_only", "device", "scenario_sha256")
"""What each run's provenance has, however old."""
