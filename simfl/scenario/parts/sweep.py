"""A sweep: the same scenario with several values of some of its numbers or components."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field, field_validator

from simfl.core.seeds import Seeds
from simfl.core.types import Rng
from simfl.errors import ScenarioError
from simfl.scenario.language.place import Location, Place
from simfl.scenario.parts.part import Count, Part

Values = Annotated[list[Any], Field(min_length=1, max_length=1000)]
MOST_POINTS = 10_000
LONGEST = 80
"""Characters of a point's name."""


class Sweep(Part):
    """Paths, each with a list of values: every combination is a variant of the scenario."""

    model_config = ConfigDict(extra="allow")

    zip: dict[str, Values] = Field(
        default_factory=dict,
        description="paths that change together: the first value of each, the second of each ...",
    )
    random: Count | None = Field(
        None, description="only this many of all combinations, drawn at random by the seed"
    )
    __pydantic_extra__: dict[str, Values]

    @field_validator("zip")
    @classmethod
    def _equally_long(cls, value: dict[str, list[Any]]) -> dict[str, list[Any]]:
        if len({len(values) for values in value.values()}) > 1:
            lengths = ", ".join(f"{path} {len(values)}" for path, values in value.items())
            raise ValueError(f"expected equally many values of each path, got {lengths}")
        return value


class Factor(NamedTuple):
    """One value of a path, and where it is written in the scenario."""

    path: str
    written: Location
    value: Any


Point = tuple[Factor, ...]
"""One combination."""


def points(sweep: Sweep, seed: int, place: Place | None = None) -> list[Point]:
    """Return the combinations of `sweep`, the last path changing fastest.

    Args:
        sweep: as written.
        seed: of what is drawn.
        place: where it is written, if that is known.

    Raises:
        ScenarioError: there are too many.
    """
    axes: list[list[Point]] = [
        [(Factor(path, ("sweep", path, index), value),) for index, value in enumerate(values)]
        for path, values in (sweep.__pydantic_extra__ or {}).items()
    ]
    if sweep.zip:
        rows = range(len(next(iter(sweep.zip.values()))))
        axes.append(
            [
                tuple(
                    Factor(path, ("sweep", "zip", path, row), values[row])
                    for path, values in sweep.zip.items()
                )
                for row in rows
            ]
        )
    count = math.prod(map(len, axes))
    if count > MOST_POINTS and sweep.random is None:
        where = "" if place is None else f"{place}: "
        raise ScenarioError(
            f"{where}sweep: {count:,} combinations, at most {MOST_POINTS:,} can be run; "
            "`random: 100` draws some of them"
        )
    chosen: Sequence[int] = range(count)
    if sweep.random is not None and sweep.random < count:
        chosen = _drawn(count, sweep.random, Seeds(seed).stream("sweep"))
    return [_combination(axes, number) for number in chosen]


def _drawn(count: int, size: int, rng: Rng) -> list[int]:
    """Return `size` different numbers below `count`, ascending."""
    if count <= np.iinfo(np.int64).max:
        return sorted(rng.choice(count, size, replace=False).tolist())
    chosen: set[int] = set()
    while len(chosen) < size:
        # Eight bytes more than needed, so that no number is likelier than others by 2^-64 of it.
        chosen.add(int.from_bytes(rng.bytes(count.bit_length() // 8 + 9), "little") % count)
    return sorted(chosen)


def _combination(axes: Sequence[Sequence[Point]], number: int) -> Point:
    """Return the combination of that number, the last axis changing fastest."""
    parts: list[Point] = []
    for axis in reversed(axes):
        number, index = divmod(number, len(axis))
        parts.append(axis[index])
    return tuple(factor for part in reversed(parts) for factor in part)


def names(combinations: Sequence[Point], place: Callable[[Location], Place]) -> list[str]:
    """Return a name for each combination, fit for a folder: ``clients=5_selection=oort``.

    Args:
        combinations: from `points`.
        place: says where something of the scenario is written.

    Raises:
        ScenarioError: two are the same.
    """
    short = _short({factor.path for point in combinations for factor in point})
    made: list[str] = []
    taken: set[str] = set()
    known: dict[str, Point] = {}
    for point in combinations:
        name = "_".join(f"{short[factor.path]}={_text(factor.value)}" for factor in point)
        values = json.dumps([factor[::2] for factor in point], sort_keys=True, default=str)
        before = known.setdefault(values, point)
        for factor, other in zip(point, before, strict=True):
            if factor.written != other.written:
                where = place(factor.written)
                raise ScenarioError(f"{where}: sweep: {name[:LONGEST]} is listed twice")
        if len(name) > LONGEST or name.lower() in taken:  # some systems' folders have no case
            name = f"{name[: LONGEST - 9]}_{hashlib.sha256(values.encode()).hexdigest()[:8]}"
        taken.add(name.lower())
        made.append(name)
    return made


def _short(paths: set[str]) -> Mapping[str, str]:
    """Return for each path as much of its end as tells it from the others."""
    keys = {path: re.findall(r"[^.\[\]]+", path) for path in paths}
    short = {}
    for path, own in keys.items():
        for length in range(1, len(own) + 1):
            end = own[-length:]
            if sum(other[-length:] == end for other in keys.values()) == 1:
                break
        short[path] = _safe(".".join(end))
    return short


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "-".join(_options(value)) or "none"
    if isinstance(value, list):
        return "-".join(map(_text, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    text = str(value).replace("%", "pct")
    return _safe(_without_stars(text) if "*" in text else text) or "none"


def _without_stars(pattern: str) -> str:
    """Return a pattern, such as of parameters, without what stands for anything.

    >>> [_without_stars(pattern) for pattern in ("features.*", "*.bias", "blocks.*.bias", "*")]
    ['features', 'bias', 'blocks.bias', 'all']
    """
    return re.sub(r"[.*]*\*[.*]*", ".", pattern).strip(".") or "all"


def _options(value: Mapping[str, Any]) -> Iterator[str]:
    for key, inner in value.items():
        yield _text(inner) if key == "name" else f"{_safe(str(key))}={_text(inner)}"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+=()-]+", "-", text.replace(" ", ""))
