"""Text such as ``10 Mbit/s`` <-> a float in base units.

Bits and bytes, SI (k, M, G) and binary (Ki, Mi, Gi) prefixes are never confused, and a number
without a unit is an error that says which units fit.
"""

import math
import re
from fractions import Fraction
from itertools import pairwise

from simfl.core.units.dimensions import COMPUTE, FLOP_RATE, SAMPLE_RATE, Dimension
from simfl.core.units.factors import factor_of
from simfl.core.units.unit_hints import fitting, unit_hint
from simfl.errors import UnitError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
"""A number as text, without words such as inf."""

_TERM = re.compile(rf"\s*((?>{NUMBER}))\s*([a-zµμ]+)", re.IGNORECASE)
_SUM = re.compile(rf"(?:{_TERM.pattern}){{2,}}\s*", re.IGNORECASE)
_QUANTITY = re.compile(rf"\s*({NUMBER}|[-+]?\.?(?:inf|nan)\b)\s*(\S.*?)?\s*", re.IGNORECASE)
LONGEST = 100
"""Characters of a quantity, at most."""


def parse_quantity(value: object, dimension: Dimension, *, unlimited: bool = False) -> float:
    """Return `value`, text with a unit, in base units of `dimension`.

    Args:
        value: such as ``"10 Mbit/s"``; a duration also ``"1 h 30 min"``.
        dimension: what it must be.
        unlimited: whether ``unlimited`` (or ``inf``) is a sensible value.

    Raises:
        UnitError: no unit, one that does not fit, units out of order, or a negative, infinite or
            undefined number.

    >>> from simfl.core.units import DATA_RATE, DATA_SIZE
    >>> parse_quantity("1 MB/s", DATA_RATE), parse_quantity("1 MiB", DATA_SIZE)
    (8000000.0, 1048576.0)
    """
    if unlimited and (value == math.inf or str(value).strip().lower() in ("unlimited", "inf")):
        return math.inf
    terms = _terms(value, dimension)
    if not all(math.isfinite(float(number)) for number, _ in terms):
        also = ", or 'unlimited'" if unlimited else ""
        raise UnitError(f"expected a finite {_bare(dimension)}{also}, got {value!r}")
    exact = sum(Fraction(number) * factor for number, factor in terms)
    if exact > dimension.largest:
        most = f"{dimension.largest:g} {dimension.base}".replace("e+", "e")
        raise UnitError(f"{value!r} is too large {dimension.name}, at most {most}")
    result = float(exact)
    if any(number.startswith("-") and Fraction(number) for number, _ in terms):
        raise UnitError(f"{dimension.name} can't be negative, got {value!r}")
    if dimension.positive and result == 0:
        raise UnitError(f"{dimension.name} must be above zero, got {value!r}")
    if dimension.positive and result < 1 / dimension.largest:
        least = f"{1 / dimension.largest:g} {dimension.base}"
        raise UnitError(f"{value!r} is too small {dimension.name}, at least {least}")
    return result + 0.0  # never -0.0


def parse_unit(unit: str, dimension: Dimension) -> float:
    """Return what one `unit` is in base units of `dimension`.

    Raises:
        UnitError: it is no unit of that.

    >>> from simfl.core.units import DATA_RATE
    >>> parse_unit("MB/s", DATA_RATE)
    8000000.0
    """
    factor = factor_of(unit.strip(), dimension) if unit.strip() else None
    if factor is None:
        known = unit.strip() and not re.match(r"[-+.\d]", unit.strip())
        hint = (
            unit_hint("1", unit.strip(), dimension) if known else f"; one of: {fitting(dimension)}"
        )
        raise UnitError(f"expected a unit of {dimension.name}, got {unit!r}{hint}")
    return float(factor)


def _terms(value: object, dimension: Dimension) -> list[tuple[str, Fraction]]:
    """Return what `value` adds up: numbers as they are written, and their units in base units."""
    expected = f"expected {dimension.name} such as '{dimension.example}'"
    add_unit = f"add a unit: {', '.join(dimension.units)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise UnitError(f"{expected}, got {value}; {add_unit}")
    if isinstance(value, str) and len(value) > LONGEST:
        raise UnitError(f"{expected}, got {value[:30]!r}...")
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UnitError(f"{expected}, got {value!r}")
    written = [(match[1].lower().replace(".inf", "inf").replace(".nan", "nan"), match[2])]
    if dimension.sum_example and _SUM.fullmatch(str(value)):
        written = _TERM.findall(str(value))
    terms = []
    for number, unit in written:
        if unit is None:
            raise UnitError(f"{expected}, got {value!r}; {add_unit}")
        factor = factor_of(unit, dimension)
        if factor is None:
            raise UnitError(f"{expected}, got {value!r}{unit_hint(number, unit, dimension)}")
        terms.append((number, factor))
    if any(before <= after for (_, before), (_, after) in pairwise(terms)):
        raise UnitError(
            f"{expected}, got {value!r}; several units go from the largest to the smallest, each "
            f"once: '{dimension.sum_example}'"
        )
    return terms


def format_quantity(value: float, dimension: Dimension) -> str:
    """Return short text, at least 1 of its unit, that `parse_quantity` turns back into `value`.

    >>> from simfl.core.units import DATA_RATE, DURATION
    >>> format_quantity(0.05, DURATION), format_quantity(1.25e6, DATA_RATE)
    ('50 ms', '1.25 Mbit/s')
    >>> format_quantity(0.05209, DURATION), format_quantity(123_456, DATA_RATE)
    ('52.09 ms', '123.456 kbit/s')
    """
    if math.isinf(value):
        return "unlimited"
    if value == 0:
        return f"0 {dimension.base}"
    best = f"{plain(value)} {dimension.base}"
    for unit in dimension.units:
        factor = factor_of(unit, dimension)
        assert factor is not None
        number = plain(float(Fraction(repr(float(value))) / factor))
        if (
            _length(number) <= _length(best.split()[0])
            and float(Fraction(number) * factor) == value
        ):
            best = f"{number} {unit}"
    return best


def plain(value: float) -> str:
    """Return the shortest text that gives back `value`, without a needless ``.0``."""
    return repr(value).removesuffix(".0")


def _length(number: str) -> int:
    """Return how long a number is to a reader, who prefers 512 to 0.5, and 52.09 to 52090."""
    needless = 2 if number.startswith("0.") else 1 if len(number) > 4 and number.isdigit() else 0
    return len(number) + needless


def _bare(dimension: Dimension) -> str:
    return dimension.name.split(" ", 1)[1]


_EITHER_RATE = Dimension(
    "a compute rate",
    SAMPLE_RATE.base,
    SAMPLE_RATE.units + FLOP_RATE.units[:-1] + ("ms/sample",),
    "100 samples/s' or '3 GFLOP/s",
    positive=True,
)


def compute_dimension(value: object) -> Dimension:
    """Return which way of saying a compute rate `value` is; if none, one whose errors name them."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    unit = match[2] if match else None
    for dimension in COMPUTE:
        if unit is not None and factor_of(unit, dimension) is not None:
            return dimension
    return _EITHER_RATE
