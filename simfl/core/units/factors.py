"""What units are: pint knows them and their relations; arithmetic is exact (rational)."""

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from simfl.core.units.dimensions import Dimension

if TYPE_CHECKING:
    import pint

# Pint's own registry takes ten times as long to build and would read `10 Mb` as megabarn.
_DEFINITIONS = """
second = [time] = s = sec = seconds
millisecond = 1/1000 * second = ms
microsecond = 1/1000000 * second = us = µs = μs
minute = 60 * second = min = minutes
hour = 3600 * second = h = hours
day = 86400 * second = d = days
bit = [data] = bits
byte = 8 * bit = B = bytes
joule = [energy] = J
watt = joule / second = W
sample = [sample] = samples
flop = [operation] = FLOP
"""
_SI = {"k": "1000", "M": "1000000", "G": "1000000000", "T": "1000000000000"}
_BINARY = {"Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776"}
_PREFIXED = {"bit": _SI | _BINARY, "B": _SI | _BINARY, "FLOP": _SI | {"P": "1000000000000000"}}
_ENERGY = {
    "mW": "1/1000 * watt", "kW": "1000 * watt", "kJ": "1000 * joule", "MJ": "1000000 * joule",
    "mJ": "1/1000 * joule", "Wh": "3600 * joule", "mWh": "3600/1000 * joule",
    "kWh": "3600000 * joule",
}  # fmt: skip

_UNIT = re.compile(r"[A-Za-zµμ]+(?:/[A-Za-zµμ]+)?")


@cache
def _registry() -> "pint.UnitRegistry[Any]":
    import pint  # a quarter of a second, so only once somebody writes a quantity

    registry: pint.UnitRegistry[Any] = pint.UnitRegistry(None, non_int_type=Fraction)
    for line in _DEFINITIONS.strip().splitlines():
        registry.define(line)
    for unit, prefixes in _PREFIXED.items():
        for prefix, factor in prefixes.items():
            registry.define(f"{prefix}{unit} = {factor} * {unit}")
    for name, definition in _ENERGY.items():
        registry.define(f"{name} = {definition}")
    for prefix in ("", "k", "M", "G"):
        registry.define(f"{prefix}bps = {prefix}bit / second")
    return registry


@cache
def resolve(unit: str) -> tuple[Fraction, Any] | None:
    """Return the unit's factor to pint's base units and its dimensionality; None if unknown."""
    import pint

    if not _UNIT.fullmatch(unit):
        return None
    try:
        parsed = _registry().parse_units(unit)
    except pint.UndefinedUnitError:
        return None
    factor, _ = _registry().get_base_units(parsed)
    return Fraction(str(factor)), parsed.dimensionality


@cache
def factor_of(unit: str, dimension: Dimension) -> Fraction | None:
    """Return how many base units of `dimension` one `unit` is; None if it does not fit."""
    found, base = resolve(unit), resolve(dimension.base)
    if found is None or base is None or found[1] != base[1]:
        return None
    return found[0] / base[0]
