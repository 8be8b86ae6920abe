"""What quantities of scenarios are written in, for people."""

from collections.abc import Mapping
from dataclasses import dataclass

from simfl.core.units import DIMENSIONS, Dimension
from simfl.core.units.factors import factor_of

UNITS = "units"
"""What all of them are described as."""


@dataclass(frozen=True)
class UnitDescription:
    """A kind of quantity, and its units.

    Attributes:
        kind: such as ``a data rate``.
        example: of one.
        base: the unit that it is kept in.
        units: how many base units each is, by name, small to large.
    """

    kind: str
    example: str
    base: str
    units: Mapping[str, float]

    @classmethod
    def of(cls, dimension: Dimension, asked: str) -> "UnitDescription":
        """Return the description of a dimension, and of the unit that was `asked` for."""
        names = dict.fromkeys((*dimension.units, asked))
        factors = {name: factor_of(name, dimension) for name in names}
        known = {name: float(factor) for name, factor in factors.items() if factor is not None}
        ordered = dict(sorted(known.items(), key=lambda unit: unit[1]))
        example = dimension.sum_example or dimension.example
        return cls(dimension.name, example, dimension.base, ordered)

    def __str__(self) -> str:
        width = max(map(len, self.units))
        lines = [f"  {name:<{width}}  {n:,.15g} {self.base}" for name, n in self.units.items()]
        return "\n".join([f"{self.kind} (such as {self.example})", "", *lines])


def described_units(word: str) -> list[UnitDescription]:
    """Return what quantities a unit is of, or all there are if `word` is `UNITS` ([]: neither)."""
    fitting = DIMENSIONS if word == UNITS else [d for d in DIMENSIONS if factor_of(word, d)]
    return [UnitDescription.of(dimension, word) for dimension in fitting]
