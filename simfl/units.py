"""Quantities with units: text such as ``10 Mbit/s`` <-> a float in base units.

Bits and bytes, SI (k, M, G) and binary (Ki, Mi, Gi) prefixes are never confused, and a number
without a unit is an error that says which units fit.  Pint knows the units and their relations;
arithmetic is exact (rational), so ``50 ms`` is the very float 0.05 and every value survives a round
trip as text.

Components and scenarios annotate their fields with the types at the end of this file:

>>> from pydantic import TypeAdapter
>>> TypeAdapter(Duration).validate_python("1.5 h")
5400.0
>>> TypeAdapter(Duration).dump_json(5400.0)
b'"90 min"'
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from pydantic import AllowInfNan, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from simfl.errors import UnitError

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

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER}|[-+]?\.?(?:inf|nan)\b)\s*(\S.*?)?\s*", re.IGNORECASE)
_UNIT = re.compile(r"[A-Za-zµμ]+(?:/[A-Za-zµμ]+)?")
_BITS_OR_BYTES = re.compile(r"([kKmMgGtT]i?)?b(/[a-z]+|ps)?")


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity.

    Attributes:
        name: what messages call it, with its article.
        base: the unit of the float it is kept as.
        units: what fits, small to large; values are written in one of these.
        example: shown where something else was found.
        positive: whether zero makes no sense.
    """

    name: str
    base: str
    units: tuple[str, ...]
    example: str
    positive: bool = False


DURATION = Dimension("a duration", "s", ("us", "ms", "s", "min", "h", "d"), "30 s")
DATA_RATE = Dimension(
    "a data rate", "bit/s", ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"), "10 Mbit/s", positive=True
)
DATA_SIZE = Dimension(
    "a data size", "B", ("B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB"), "512 MiB"
)
SAMPLE_RATE = Dimension(
    "a compute rate", "samples/s", ("samples/s",), "100 samples/s", positive=True
)
FLOP_RATE = Dimension(
    "a compute rate",
    "FLOP/s",
    ("FLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"),
    "3 GFLOP/s",
    positive=True,
)
POWER = Dimension("a power", "W", ("mW", "W", "kW"), "2.5 W")
ENERGY = Dimension("an energy", "J", ("J", "kJ", "mWh", "Wh", "kWh"), "12 Wh")

DIMENSIONS = (DURATION, DATA_RATE, DATA_SIZE, SAMPLE_RATE, FLOP_RATE, POWER, ENERGY)


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
def _resolve(unit: str) -> tuple[Fraction, Any] | None:
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
def _factor(unit: str, dimension: Dimension) -> Fraction | None:
    """Return how many base units of `dimension` one `unit` is; None if it does not fit."""
    found, base = _resolve(unit), _resolve(dimension.base)
    if found is None or base is None or found[1] != base[1]:
        return None
    return found[0] / base[0]


def parse_quantity(value: object, dimension: Dimension, *, unlimited: bool = False) -> float:
    """Return `value`, text with a unit, in base units of `dimension`.

    Args:
        value: such as ``"10 Mbit/s"``.
        dimension: what it must be.
        unlimited: whether ``unlimited`` (or ``inf``) is a sensible value.

    Raises:
        UnitError: no unit, one that does not fit, or a negative, infinite or undefined number.

    >>> parse_quantity("1 MB/s", DATA_RATE), parse_quantity("1 MiB", DATA_SIZE)
    (8000000.0, 1048576.0)
    """
    if unlimited and (value == math.inf or str(value).strip().lower() in ("unlimited", "inf")):
        return math.inf
    expected = f"expected {dimension.name} such as '{dimension.example}'"
    add_unit = f"add a unit: {', '.join(dimension.units)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise UnitError(f"{expected}, got {value}; {add_unit}")
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UnitError(f"{expected}, got {value!r}")
    number, unit = match.groups()
    if unit is None:
        raise UnitError(f"{expected}, got {value!r}; {add_unit}")
    factor = _factor(unit, dimension)
    if factor is None:
        raise UnitError(f"{expected}, got {value!r}{_hint(unit, dimension)}")
    if not math.isfinite(float(number)):
        also = ", or 'unlimited'" if unlimited else ""
        raise UnitError(f"expected a finite {_bare(dimension)}{also}, got {value!r}")
    try:
        result = float(Fraction(number) * factor)
    except OverflowError:
        raise UnitError(f"{value!r} is too large {_bare(dimension)}") from None
    if result < 0:
        raise UnitError(f"{dimension.name} can't be negative, got {value!r}")
    if dimension.positive and result == 0:
        raise UnitError(f"{dimension.name} must be above zero, got {value!r}")
    return result + 0.0  # never -0.0


def format_quantity(value: float, dimension: Dimension) -> str:
    """Return short text, at least 1 of its unit, that `parse_quantity` turns back into `value`.

    >>> format_quantity(0.05, DURATION), format_quantity(1.25e6, DATA_RATE)
    ('50 ms', '1.25 Mbit/s')
    """
    if math.isinf(value):
        return "unlimited"
    if value == 0:
        return f"0 {dimension.base}"
    best = f"{_plain(value)} {dimension.base}"
    for unit in dimension.units:
        factor = _factor(unit, dimension)
        assert factor is not None
        number = _plain(float(Fraction(value) / factor))
        if (
            _length(number) <= _length(best.split()[0])
            and float(Fraction(number) * factor) == value
        ):
            best = f"{number} {unit}"
    return best


def _plain(value: float) -> str:
    return repr(value).removesuffix(".0")


def _length(number: str) -> int:
    """Return how long a number is to a reader, who prefers 512 to 0.5."""
    return len(number) + (2 if number.startswith("0.") else 0)


def _bare(dimension: Dimension) -> str:
    return dimension.name.split(" ", 1)[1]


def _hint(unit: str, dimension: Dimension) -> str:
    """Say what is wrong with a unit that does not fit."""
    fitting = ", ".join(dimension.units)
    if (found := _resolve(unit)) is not None:
        for other in DIMENSIONS:
            base = _resolve(other.base)
            if base is not None and base[1] == found[1] and other is not dimension:
                also = f" in {other.base}" if other.name == dimension.name else ""
                return f", {other.name}{also}; units that fit: {fitting}"
        return f"; units that fit: {fitting}"
    if match := _BITS_OR_BYTES.fullmatch(unit):
        prefix, per = (match[1] or "").replace("K", "k").replace("m", "M"), match[2] or ""
        per = "/s" if per == "ps" else per
        return f"; {unit!r} may mean bits or bytes: write '{prefix}bit{per}' or '{prefix}B{per}'"
    if unit.endswith("ps") and _resolve(per_second := f"{unit.removesuffix('ps')}/s") is not None:
        return f"; write '{per_second}'"
    if unit.startswith("KB"):
        return f"; {unit!r} is ambiguous: write 'kB' (1000 bytes) or 'KiB' (1024 bytes)"
    known = {name.lower(): name for name in dimension.units}
    if close := get_close_matches(unit.lower(), known, n=1, cutoff=0.6):
        return f"; unknown unit {unit!r}, did you mean '{known[close[0]]}'?"
    return f"; unknown unit {unit!r}, expected one of: {fitting}"


def _refuse(error: UnitError) -> PydanticCustomError:
    return PydanticCustomError("quantity", "{message}", {"message": str(error)})


def as_text(
    parse: Callable[[Any], Any], dump: Callable[[Any], Any], then: CoreSchema | None = None
) -> CoreSchema:
    """Return the schema of a field that `parse` reads and that JSON holds as `dump` writes it.

    Args:
        parse: text -> value.
        dump: value -> text.
        then: what the value must fulfil besides, such as the field's own ``gt=0``.
    """
    written = core_schema.plain_serializer_function_ser_schema(dump, when_used="json")
    if then is not None and then["type"] == "float":
        # `parse` knows where infinity makes sense, whatever the model around the field says.
        then = cast(CoreSchema, {**then, "allow_inf_nan": True})
    if then is None:
        return core_schema.no_info_plain_validator_function(parse, serialization=written)
    return core_schema.no_info_before_validator_function(parse, then, serialization=written)


class Quantity:
    """Annotation of a float field that scenarios write as text with a unit.

    ``Annotated[float, Quantity(DURATION)]`` validates to seconds and is written back as text.

    Args:
        dimension: what the quantity is.
        unlimited: whether ``unlimited`` is accepted, as infinity.
    """

    def __init__(self, dimension: Dimension, *, unlimited: bool = False) -> None:
        self.dimension = dimension
        self.unlimited = unlimited

    @property
    def units(self) -> tuple[str, ...]:
        """The units that fit."""
        return self.dimension.units

    def parse(self, value: object) -> float:
        """Return `value` in base units; errors are pydantic's."""
        try:
            return parse_quantity(value, self.dimension, unlimited=self.unlimited)
        except UnitError as error:
            raise _refuse(error) from None

    def dump(self, value: float) -> str:
        """Return the text that `parse` turns back into `value`."""
        return format_quantity(value, self.dimension)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return as_text(self.parse, self.dump, handler(source))

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return quantity_schema((self.dimension,), unlimited=self.unlimited)


def quantity_schema(
    dimensions: tuple[Dimension, ...], *, unlimited: bool = False
) -> dict[str, Any]:
    """Return the JSON Schema of the text of a quantity."""
    number = _NUMBER.replace("[-+]?", r"\+?", 1)
    words = "|unlimited|inf" if unlimited else ""
    return {
        "type": "string",
        "pattern": rf"^\s*(?:{number}\s*[A-Za-zµμ]+(?:/[A-Za-z]+)?{words})\s*$",
        "examples": [dimension.example for dimension in dimensions],
        "description": f"{dimensions[0].name}; units: "
        + ", ".join(unit for dimension in dimensions for unit in dimension.units),
    }


class Rate(NamedTuple):
    """A compute rate: `value` in ``samples/s`` or ``FLOP/s``, as `unit` says."""

    value: float
    unit: str


class RateQuantity:
    """Annotation of a `Rate` field, written in ``samples/s`` or ``FLOP/s``."""

    units = SAMPLE_RATE.units + FLOP_RATE.units

    def parse(self, value: object) -> Rate:
        """Return the rate that `value` says; errors are pydantic's."""
        if isinstance(value, Rate):
            return value
        dimension = compute_dimension(value)
        try:
            return Rate(parse_quantity(value, dimension), dimension.base)
        except UnitError as error:
            raise _refuse(error) from None

    def dump(self, rate: Rate) -> str:
        """Return the text that `parse` turns back into `rate`."""
        return format_quantity(rate.value, compute_dimension(f"1 {rate.unit}"))

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return as_text(self.parse, self.dump)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return quantity_schema(COMPUTE)


COMPUTE = (SAMPLE_RATE, FLOP_RATE)
"""The two ways of saying how fast a device computes."""

_EITHER_RATE = Dimension(
    "a compute rate",
    SAMPLE_RATE.base,
    SAMPLE_RATE.units + FLOP_RATE.units[:-1],
    "100 samples/s' or '3 GFLOP/s",
    positive=True,
)


def compute_dimension(value: object) -> Dimension:
    """Return which of the two compute rates `value` is; if neither, one whose errors name both."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    unit = match[2] if match else None
    for dimension in COMPUTE:
        if unit is not None and _factor(unit, dimension) is not None:
            return dimension
    return _EITHER_RATE


def parse_share(value: object, maximum: float | None = 1.0) -> float:
    """Return ``"30%"``, ``0.3`` or ``"0.3"`` as a fraction of one.

    Args:
        value: a share.
        maximum: largest sensible one; None: any.

    Raises:
        UnitError: it is no share, negative, or too large.

    >>> parse_share("30%")
    0.3
    """
    text = str(value).strip() if not isinstance(value, bool) else ""
    share = re.fullmatch(rf"({_NUMBER})\s*(%?)", text)
    if share is None:
        raise UnitError(f"expected a share such as '30%' or 0.3, got {value!r}")
    result = float(Fraction(share[1]) / (100 if share[2] else 1)) + 0.0
    if result < 0:
        raise UnitError(f"a share can't be negative, got {value!r}")
    if maximum is not None and result > maximum:
        hint = f"; did you mean '{text}%'?" if not share[2] and result <= 100 else ""
        raise UnitError(f"expected a share of at most {maximum:.0%}, got {value!r}{hint}")
    return result


class Share:
    """Annotation of a float field written as ``30%`` or ``0.3``.

    Args:
        maximum: largest sensible share; None: any, as in ``130%``.
    """

    def __init__(self, maximum: float | None = 1.0) -> None:
        self.maximum = maximum

    def parse(self, value: object) -> float:
        """Return `value` as a fraction of one; errors are pydantic's."""
        try:
            return parse_share(value, self.maximum)
        except UnitError as error:
            raise _refuse(error) from None

    def dump(self, value: float) -> str:
        """Return the text that `parse` turns back into `value`."""
        for number in (_plain(value * 100), repr(round(value * 100, 9)).removesuffix(".0")):
            if float(Fraction(number) / 100) == value and len(number) < 12:
                return f"{number}%"
        return _plain(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return as_text(self.parse, self.dump, handler(source))

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number", "minimum": 0}
        if self.maximum is not None:
            number["maximum"] = self.maximum
        text = {"type": "string", "pattern": r"^\s*\+?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*%?\s*$"}
        return {"anyOf": [number, text], "examples": ["30%", 0.3]}


Duration = Annotated[float, Quantity(DURATION)]
"""Seconds; written ``us, ms, s, min, h, d``."""
DataRate = Annotated[float, Quantity(DATA_RATE)]
"""Bit/s; written ``bit/s, kbit/s, Mbit/s, Gbit/s``, or in bytes: ``MB/s, MiB/s``."""
LinkRate = Annotated[float, AllowInfNan(True), Quantity(DATA_RATE, unlimited=True)]
"""Bit/s of a link, or ``unlimited`` (infinity)."""
DataSize = Annotated[float, Quantity(DATA_SIZE)]
"""Bytes; written ``B, kB, MB, GB, KiB, MiB, GiB``, or in bits."""
ComputeRate = Annotated[Rate, RateQuantity()]
"""``samples/s`` or ``FLOP/s`` (``MFLOP/s, GFLOP/s, TFLOP/s``); keeps which."""
Power = Annotated[float, Quantity(POWER)]
"""Watts; written ``mW, W, kW``."""
Energy = Annotated[float, Quantity(ENERGY)]
"""Joules; written ``J, kJ, mWh, Wh, kWh``."""
Percent = Annotated[float, Share()]
"""A share from 0 to 1; written ``30%`` or ``0.3``."""
Ratio = Annotated[float, Share(maximum=None)]
"""A share that may exceed one, such as ``130%``."""
