"""Field types: quantities and shares that scenarios write as text."""

from collections.abc import Callable
from typing import Annotated, Any, cast

from pydantic import AllowInfNan, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from simfl.core.units.dimensions import DATA_RATE, DATA_SIZE, DURATION, ENERGY, POWER, Dimension
from simfl.core.units.factors import names_pattern
from simfl.core.units.quantity import NUMBER, format_quantity, parse_quantity
from simfl.core.units.share import format_share, parse_share


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
        """Return `value` in base units.

        Raises:
            UnitError: it is none.
        """
        return parse_quantity(value, self.dimension, unlimited=self.unlimited)

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
    number = NUMBER.replace("[-+]?", r"\+?", 1)
    ways = [rf"{number}\s*(?:{names_pattern(dimension)})" for dimension in dimensions]
    sums = [dimension for dimension in dimensions if dimension.sum_example]
    for dimension in sums:
        names = names_pattern(dimension, quotients=False)
        ways.append(rf"(?:\s*{number}\s*(?:{names})){{2,}}")
    if unlimited:
        ways += ["unlimited", "inf"]
    units = ", ".join(unit for dimension in dimensions for unit in dimension.units)
    name, example = dimensions[0].name, dimensions[0].example
    return {
        "type": "string",
        "pattern": rf"^\s*(?:{'|'.join(ways)})\s*$",
        # What editors show where that does not match; validators that don't know it pass it over.
        "patternErrorMessage": f"expected {name} such as '{example}'; units: {units}",
        "examples": [dimension.example for dimension in dimensions]
        + [dimension.sum_example for dimension in sums],
        "description": f"{name}; units: {units}",
    }


class Share:
    """Annotation of a float field written as ``30%`` or ``0.3``.

    Args:
        maximum: largest sensible share; None: any, written as ``130%`` where it exceeds one.
    """

    def __init__(self, maximum: float | None = 1.0) -> None:
        self.maximum = maximum

    def parse(self, value: object) -> float:
        """Return `value` as a fraction of one.

        Raises:
            UnitError: it is none.
        """
        return parse_share(value, self.maximum)

    def dump(self, value: float) -> str:
        """Return the text that `parse` turns back into `value`."""
        return format_share(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return as_text(self.parse, self.dump, handler(source))

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        most = 1 if self.maximum is None else self.maximum  # without a percent sign
        number = {"type": "number", "minimum": 0, "maximum": most}
        text = {"type": "string", "pattern": r"^\s*\+?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*%?\s*$"}
        return {"anyOf": [number, text], "examples": ["30%", 0.3]}


Duration = Annotated[float, Quantity(DURATION)]
"""Seconds; written ``us, ms, s, min, h, d``, or several of them: ``1 h 30 min``."""
LinkRate = Annotated[float, AllowInfNan(True), Quantity(DATA_RATE, unlimited=True)]
"""Bit/s of a link, or ``unlimited`` (infinity)."""
DataSize = Annotated[float, Quantity(DATA_SIZE)]
"""Bytes; written ``B, kB, MB, GB, KiB, MiB, GiB``, or in bits."""
Energy = Annotated[float, Quantity(ENERGY)]
"""Joules; written ``J, kJ, mWh, Wh, kWh``."""
Power = Annotated[float, Quantity(POWER)]
"""Watts; written ``mW, W, kW``."""
Percent = Annotated[float, Share()]
"""A share from 0 to 1; written ``30%`` or ``0.3``."""
Ratio = Annotated[float, Share(maximum=None)]
"""A share that may exceed one, then with a percent sign, such as ``130%``."""
