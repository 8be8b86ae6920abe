"""Quantities with units: text such as ``10 Mbit/s`` <-> a float in base units.

Arithmetic is exact (rational), so ``50 ms`` is the very float 0.05 and every value survives a round
trip as text.

Components and scenarios annotate their fields with the types of `simfl.core.units.fields`:

>>> from pydantic import TypeAdapter
>>> TypeAdapter(Duration).validate_python("1.5 h")
5400.0
>>> TypeAdapter(Duration).dump_json(5400.0)
b'"90 min"'
"""

from simfl.core.units.dimensions import (
    COMPUTE,
    DATA_RATE,
    DATA_SIZE,
    DIMENSIONS,
    DURATION,
    ENERGY,
    FLOP_RATE,
    POWER,
    SAMPLE_RATE,
    Dimension,
)
from simfl.core.units.fields import (
    DataSize,
    Duration,
    Energy,
    LinkRate,
    Percent,
    Power,
    Quantity,
    Ratio,
    Share,
    as_text,
    quantity_schema,
)
from simfl.core.units.quantity import compute_dimension, format_quantity, parse_quantity
from simfl.core.units.share import parse_share

__all__ = [
    "COMPUTE",
    "DATA_RATE",
    "DATA_SIZE",
    "DIMENSIONS",
    "DURATION",
    "ENERGY",
    "FLOP_RATE",
    "POWER",
    "SAMPLE_RATE",
    "DataSize",
    "Dimension",
    "Duration",
    "Energy",
    "LinkRate",
    "Percent",
    "Power",
    "Quantity",
    "Ratio",
    "Share",
    "as_text",
    "compute_dimension",
    "format_quantity",
    "parse_quantity",
    "parse_share",
    "quantity_schema",
]
