"""What there is to do: one variant with one seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from simfl.scenario import Document, Scenario, expand


@dataclass(frozen=True)
class Job:
    """One variant with one seed, and the folder its results go to.

    Attributes:
        variant: its name.
        scenario: complete.
        folder: of the run.
        factors: what was swept: a path -> its value.
        place: which of all variants it is, in the order written: that in which they are shown.
    """

    variant: str
    scenario: Scenario
    folder: Path
    factors: Mapping[str, Any] = field(default_factory=dict)
    place: int = 0

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.variant} seed {self.scenario.seed}"

    @cached_property
    def text(self) -> str:
        """The scenario as its folder will hold it."""
        return self.scenario.to_yaml()


def jobs(
    scenario: Scenario | Document,
    out: Path | None = None,
    seeds: Sequence[int] | None = None,
    variants: Sequence[str] | None = None,
) -> list[Job]:
    """Return the runs that `scenario` asks for: every variant, swept, with every seed.

    Args:
        scenario: with its variants and seeds; as written, so that errors can name the line, or
            validated.
        out: the folder of run folders (None: ``runs/NAME``).
        seeds: instead of the scenario's own.
        variants: only these (None: all); see `expand`.

    Raises:
        ScenarioError: everything that is wrong with it or with one of its variants.
    """
    todo = []
    for one in expand(scenario, seeds, variants):
        top = Path("runs") / one.scenario.name if out is None else out
        folder = top / one.variant / f"seed-{one.seed}"
        todo.append(Job(one.variant, one.scenario, folder, one.factors, one.place))
    return todo
