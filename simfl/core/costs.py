"""What runs cost beside time and rounds: columns, axes, objectives and comparisons follow from it.

How each is read from a run says `simfl.runs.results.costs`; that is all that one more takes, but
for a limit on it in `tune.under`, which is a key of scenarios like any other.
"""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["share", "time", "bytes", "energy", "count", "ratio", "number"]
"""What a number is of: says how it is written."""


@dataclass(frozen=True)
class Cost:
    """Something that is summed up while a run goes on.

    Attributes:
        name: as an axis of `simfl plot`, and an objective of `simfl tune`.
        column: its name in tables for programs, with its unit.
        unit: says how its values are written.
        title: what people call it.
        axis: what axes call it.
        per_round: whether two variants can be compared by what a round takes of it.
        tuned: whether `simfl tune` looks for the least of it.
        known: of which runs it is known ("": of all).
    """

    name: str
    column: str
    unit: Unit
    title: str
    axis: str
    per_round: bool = True
    tuned: bool = True
    known: str = ""


_PRIVATE = "of runs that protect privacy, with 'dp_fedavg' for one"

SPENT = (
    Cost("bytes", "bytes", "bytes", "bytes", "bytes moved"),
    Cost(
        "energy",
        "energy_j",
        "energy",
        "energy at work",
        "energy at work",
        known="of fleets whose groups have a `power`",
    ),
    Cost("epsilon", "epsilon", "ratio", "epsilon", "epsilon", per_round=False, known=_PRIVATE),
    Cost(
        "epsilon_poisson",
        "epsilon_poisson",
        "ratio",
        "epsilon, Poisson",
        "epsilon, Poisson",
        per_round=False,
        tuned=False,
        known=_PRIVATE,
    ),
)
"""In the order in which they are told."""
TUNED = ("time", "rounds", *(cost.name for cost in SPENT if cost.tuned))
"""Objectives that can be asked of a target."""
LIMITED = (*TUNED, "wasted", "never_heard")
"""What `tune.under` can have a limit on."""
