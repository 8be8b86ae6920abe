"""What units are: a table of factors and dimensions; arithmetic is exact (rational)."""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product

from simfl.core.units.dimensions import Dimension

Powers = frozenset[tuple[str, int]]
"""The base quantities that a unit measures, each with its power, such as data 1, time -1."""

_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_MILLI, _MICRO = Fraction(1, 10**3), Fraction(1, 10**6)


def _units(names: str, factor: Fraction | int, **powers: int) -> dict[str, tuple[Fraction, Powers]]:
    return {name: (Fraction(factor), frozenset(powers.items())) for name in names.split()}


def _table() -> Mapping[str, tuple[Fraction, Powers]]:
    table = {
        **_units("s sec secs second seconds", 1, time=1),
        **_units("ms millisecond milliseconds", _MILLI, time=1),
        **_units("ns", _MICRO / 1000, time=1),
        **_units("us µs μs microsecond microseconds", _MICRO, time=1),
        **_units("min mins minute minutes", 60, time=1),
        **_units("h hr hrs hour hours", 3600, time=1),
        **_units("d day days", 86400, time=1),
        **_units("uJ µJ", _MICRO, energy=1),
        **_units("mJ", _MILLI, energy=1),
        **_units("J joule joules Ws", 1, energy=1),
        **_units("kJ", 10**3, energy=1),
        **_units("MJ", 10**6, energy=1),
        **_units("mWh", 3600 * _MILLI, energy=1),
        **_units("Wh", 3600, energy=1),
        **_units("kWh", 3600 * 10**3, energy=1),
        **_units("MWh", 3600 * 10**6, energy=1),
        **_units("uW µW", _MICRO, energy=1, time=-1),
        **_units("mW", _MILLI, energy=1, time=-1),
        **_units("W watt watts", 1, energy=1, time=-1),
        **_units("kW", 10**3, energy=1, time=-1),
        **_units("MW", 10**6, energy=1, time=-1),
        **_units("sample samples", 1, samples=1),
        **_units("flop flops", 1, operations=1),
    }
    for prefix, factor in (_SI | _BINARY).items():
        table |= _units(f"{prefix}bit {prefix}bits", factor, data=1)
        table |= _units(f"{prefix}B {prefix}byte {prefix}bytes", 8 * factor, data=1)
    for prefix, factor in (_SI | {"P": 10**15}).items():
        table |= _units(f"{prefix}FLOP {prefix}FLOPs", factor, operations=1)
    for prefix in ("", "k", "M", "G"):
        table |= _units(f"{prefix}bps", _SI[prefix], data=1, time=-1)
    return table


_UNITS = _table()
_UNIT = re.compile(r"([A-Za-zµμ]+)(?:/([A-Za-zµμ]+))?")


@cache
def resolve(unit: str) -> tuple[Fraction, Powers] | None:
    """Return a unit's factor to seconds, bits and joules, and what it measures; None if unknown."""
    match = _UNIT.fullmatch(unit)
    if match is None or not {name for name in match.groups() if name} <= _UNITS.keys():
        return None
    factor, powers = _UNITS[match[1]]
    if match[2] is None:
        return factor, powers
    divisor, below = _UNITS[match[2]]
    return factor / divisor, _over(powers, below)


def _over(powers: Powers, below: Powers) -> Powers:
    """Return what the quotient of two units measures."""
    quotient = dict(powers)
    for quantity, power in below:
        quotient[quantity] = quotient.get(quantity, 0) - power
    return frozenset(item for item in quotient.items() if item[1])


@cache
def names_pattern(dimension: Dimension, *, quotients: bool = True) -> str:
    """Return the regular expression of just those units that `factor_of` knows for `dimension`.

    Args:
        dimension: what they measure.
        quotients: with units such as ``MB/s`` beside those that are one name.
    """
    alike: dict[Powers, list[str]] = {}
    for name, (_, powers) in _UNITS.items():
        alike.setdefault(powers, []).append(name)
    names = {powers: f"(?:{'|'.join(several)})" for powers, several in alike.items()}
    base = resolve(dimension.base)
    wanted = None if base is None else base[1]
    ways = [text for powers, text in names.items() if powers == wanted]
    if quotients:
        pairs = product(names.items(), repeat=2)
        ways += [f"{a}/{b}" for (above, a), (below, b) in pairs if _over(above, below) == wanted]
    return "|".join(ways)


@cache
def spelt_out(dimension: Dimension) -> list[str]:
    """Return the words that are units of `dimension`, such as hours."""
    return [
        unit for unit in _UNITS if unit.islower() and len(unit) > 3 and factor_of(unit, dimension)
    ]


@cache
def factor_of(unit: str, dimension: Dimension) -> Fraction | None:
    """Return how many base units of `dimension` one `unit` is; None if it does not fit."""
    resolved, base = resolve(unit), resolve(dimension.base)
    if resolved is None or base is None or resolved[1] != base[1]:
        return None
    return resolved[0] / base[0]
