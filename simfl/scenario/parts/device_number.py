"""The field type of a device's number: a quantity, or a distribution of quantities."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from simfl.core.named_options import COMPONENT, nested
from simfl.core.units import (
    COMPUTE,
    DATA_RATE,
    DATA_SIZE,
    DURATION,
    ENERGY,
    Dimension,
    Quantity,
    compute_dimension,
    quantity_schema,
)
from simfl.errors import InputError, NameNotFound
from simfl.scenario.distributions import DISTRIBUTIONS, Constant, Draw


class Drawn:
    """Annotation of a `Draw` field.

    Args:
        dimension: what the number is; None: a compute rate, said in one way throughout.
        unlimited: whether ``unlimited`` is accepted.
    """

    def __init__(self, dimension: Dimension | None, *, unlimited: bool = False) -> None:
        self.dimension = dimension
        self.unlimited = unlimited

    @property
    def name(self) -> str:
        """What the number is, such as ``a data rate``."""
        return "a compute rate" if self.dimension is None else self.dimension.name

    @property
    def units(self) -> tuple[str, ...]:
        """Units that fit."""
        return tuple(unit for dimension in self._dimensions for unit in dimension.units)

    @property
    def _dimensions(self) -> tuple[Dimension, ...]:
        return COMPUTE if self.dimension is None else (self.dimension,)

    def parse(self, value: object, info: ValidationInfo | None = None) -> Draw:
        """Return the draw that `value`, a quantity or a mapping with a `distribution`, stands for.

        Raises:
            InputError: it stands for none.
            PydanticCustomError: its options are wrong, to be unfolded by whoever validates the
                whole document.
        """
        if isinstance(value, Draw):
            return value
        if meant := [name for name in DISTRIBUTIONS if name in _words(value)]:
            raise InputError(
                f"a distribution is written `{{distribution: {meant[0]}, ...}}`, with its options "
                "beside it"
            )
        if isinstance(value, Mapping):
            return self._distribution(dict(value), info)
        dimension = self.dimension or compute_dimension(value)
        Quantity(dimension, unlimited=self.unlimited).parse(value)
        return Constant.build({"value": value}, dimension, unlimited=self.unlimited)

    def _distribution(self, options: dict[str, Any], info: ValidationInfo | None) -> Draw:
        """Return the draw that a mapping with a `distribution` stands for; see `parse`."""
        name = options.pop("distribution", None)
        kind = DISTRIBUTIONS.get(name) if isinstance(name, str) else None
        if name is None:
            names = ", ".join(DISTRIBUTIONS)
            raise InputError(
                f"expected a quantity, or a mapping with a `distribution`, one of: {names}"
            )
        if kind is None:
            raise NameNotFound("distribution", name, DISTRIBUTIONS)
        dimension = self.dimension or _compute_dimension(options)
        try:
            draw = kind.build(
                options,
                dimension,
                unlimited=self.unlimited,
                folder=(info.context or {}).get("folder") if info else None,
            )
        except ValidationError as error:
            raise nested(f"distribution {name!r} has wrong options", kind, error) from None
        lowest = draw.lowest()
        if lowest < 0 or (dimension.positive and lowest == 0):
            reach = "zero" if lowest == 0 else "below zero"
            raise InputError(
                f"this {name} distribution reaches {reach}, where {dimension.name} can't be; give "
                "it a larger `min`"
            )
        return draw

    def dump(self, draw: Draw) -> Any:
        """Return what `parse` turns back into an equal draw."""
        text = draw.text()
        return text["value"] if isinstance(draw, Constant) else text

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(
                self.dump, when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {
            "oneOf": [
                quantity_schema(self._dimensions, unlimited=self.unlimited),
                {COMPONENT: "distributions"},
            ]
        }


def _words(value: object) -> list[object]:
    """Return what stands where some write the name of a distribution."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Mapping) or "distribution" in value:
        return []
    return [value.get("name"), value.get("type"), *(value if len(value) == 1 else ())]


def _compute_dimension(options: Mapping[str, Any]) -> Dimension:
    """Return the compute rate that the first quantity among `options` is; the others must agree."""
    for value in _leaves(options):
        for text in (value, f"1 {value}"):
            if (dimension := compute_dimension(text)) in COMPUTE:
                return dimension
    return compute_dimension(None)


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


ComputeDraw = Annotated[Draw, Drawn(None)]
"""``samples/s``, ``FLOP/s`` or ``s/sample``; `Draw.unit` says which."""
LinkDraw = Annotated[Draw, Drawn(DATA_RATE, unlimited=True)]
DurationDraw = Annotated[Draw, Drawn(DURATION)]
DataSizeDraw = Annotated[Draw, Drawn(DATA_SIZE)]
CapacityDraw = Annotated[Draw, Drawn(replace(ENERGY, positive=True))]
