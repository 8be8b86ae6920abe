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

# `as` says that they are exported.
from simfl.core.units.dimensions import COMPUTE as COMPUTE
from simfl.core.units.dimensions import DATA_RATE as DATA_RATE
from simfl.core.units.dimensions import DATA_SIZE as DATA_SIZE
from simfl.core.units.dimensions import DIMENSIONS as DIMENSIONS
from simfl.core.units.dimensions import DURATION as DURATION
from simfl.core.units.dimensions import ENERGY as ENERGY
from simfl.core.units.dimensions import FLOP_RATE as FLOP_RATE
from simfl.core.units.dimensions import POWER as POWER
from simfl.core.units.dimensions import SAMPLE_RATE as SAMPLE_RATE
from simfl.core.units.dimensions import SAMPLE_TIME as SAMPLE_TIME
from simfl.core.units.dimensions import Dimension as Dimension
from simfl.core.units.fields import DataSize as DataSize
from simfl.core.units.fields import Duration as Duration
from simfl.core.units.fields import Energy as Energy
from simfl.core.units.fields import LinkRate as LinkRate
from simfl.core.units.fields import Percent as Percent
from simfl.core.units.fields import Power as Power
from simfl.core.units.fields import Quantity as Quantity
from simfl.core.units.fields import Ratio as Ratio
from simfl.core.units.fields import Share as Share
from simfl.core.units.fields import as_text as as_text
from simfl.core.units.fields import quantity_schema as quantity_schema
from simfl.core.units.quantity import compute_dimension as compute_dimension
from simfl.core.units.quantity import format_quantity as format_quantity
from simfl.core.units.quantity import parse_quantity as parse_quantity
from simfl.core.units.quantity import parse_unit as parse_unit
from simfl.core.units.share import parse_share as parse_share
