"""What is wrong with a unit that does not fit, and which one may be meant."""

import re
from difflib import get_close_matches

from simfl.core.units.dimensions import DIMENSIONS, DURATION, ENERGY, Dimension
from simfl.core.units.factors import factor_of, resolve, spelt_out

BETWEEN = "[ ,_']"
"""What some write between digits."""
NUMBERS = "; numbers have a decimal point, and nothing else between their digits"
"""What is said where something does."""
_PREFIXES = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T"}
_BITS_OR_BYTES = re.compile(r"([kKmMgGtT]i?)?b(/[a-z]+|ps)?")


def unit_hint(number: str, unit: str, dimension: Dimension) -> str:
    """Say what is wrong with a unit that does not fit, such as ``; did you mean 'bit/s'?``.

    Args:
        number: as it stands before the unit.
        unit: as written, stripped.
        dimension: what is expected.
    """
    if re.match(rf"{BETWEEN}?\d", unit):
        return NUMBERS
    if dimension.sum_example and re.match(r"[a-zµμ]+[\s,]*\d", unit, re.IGNORECASE):
        return f"; several units are written such as '{dimension.sum_example}'"
    return (
        _conversion(number, unit, dimension)
        or _of_another_kind(unit, dimension)
        or _other_spelling(unit)
        or _near_miss(unit, dimension)
        or f"; unknown unit {unit!r}, expected one of: {fitting(dimension)}"
    )


def fitting(dimension: Dimension) -> str:
    """Return the units of a dimension, as messages list them."""
    return ", ".join(dimension.units)


def _conversion(number: str, unit: str, dimension: Dimension) -> str:
    """Say how to write what somebody may mean by a unit of something else, if that is known."""
    if dimension.base == DURATION.base and unit in ("m", "M"):
        return f"; {unit!r} may mean minutes, months or metres: write '{number} min' for minutes"
    if dimension.base == ENERGY.base and (charge := re.fullmatch("(m?)Ah", unit)):
        return (
            f"; {unit!r} is a charge: times the voltage it is an energy, such as {number} {unit} "
            f"x 3.85 V = {float(number) * 3.85:g} {charge[1]}Wh"
        )
    return ""


def _of_another_kind(unit: str, dimension: Dimension) -> str:
    """Say what a unit is of, if it is one."""
    if (known_unit := resolve(unit)) is None:
        return ""
    for other in DIMENSIONS:
        base = resolve(other.base)
        if base is not None and base[1] == known_unit[1] and other.base != dimension.base:
            also = f" in {other.base}" if other.name == dimension.name else ""
            return f", {other.name}{also}; units that fit: {fitting(dimension)}"
    meant = f"; did you mean '{unit}/s'?" if factor_of(f"{unit}/s", dimension) else ""
    return f"{meant}; units that fit: {fitting(dimension)}"


def _other_spelling(unit: str) -> str:
    """Say how bits, bytes and rates are written, if a unit is one of theirs elsewhere."""
    if match := _BITS_OR_BYTES.fullmatch(unit):
        prefix, per = (match[1] or "").replace("K", "k").replace("m", "M"), match[2] or ""
        per = "/s" if per == "ps" else per
        return f"; {unit!r} may mean bits or bytes: write '{prefix}bit{per}' or '{prefix}B{per}'"
    if unit.endswith("ps") and resolve(per_second := f"{unit.removesuffix('ps')}/s") is not None:
        return f"; write '{per_second}'"
    if unit.startswith("KB"):
        return f"; {unit!r} is ambiguous: write 'kB' (1000 bytes) or 'KiB' (1024 bytes)"
    return ""


def _near_miss(unit: str, dimension: Dimension) -> str:
    """Say which unit may be meant by one that is written out, or misspelt."""
    words = re.sub("kilo|mega|giga|tera", lambda word: _PREFIXES[word[0]], unit.lower())
    words = re.sub("bytes?", "B", words)
    words = re.sub(r"^([mnuµμ])secs?$", r"\1s", words)
    if words != unit.lower() and factor_of(words, dimension) is not None:
        return f"; unknown unit {unit!r}, did you mean {words!r}?"
    known = {name.lower(): name for name in (*dimension.units, *spelt_out(dimension))}
    # Short units resemble each other by chance: nobody who writes `ks` means `us`.
    cutoff = 0.7 if len(unit) > 2 else 1.0
    if close := get_close_matches(unit.lower(), known, n=1, cutoff=cutoff):
        return f"; unknown unit {unit!r}, did you mean '{known[close[0]]}'?"
    return ""
