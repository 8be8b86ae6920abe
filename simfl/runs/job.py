"""What there is to do: one variant with one seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simfl.scenario import Scenario


@dataclass(frozen=True)
class Job:
    """One variant with one seed, and the folder its results go to.

    Attributes:
        variant: its name.
        scenario: complete.
        folder: of the run.
        factors: what was swept: a path -> its value.
    """

    variant: str
    scenario: Scenario
    folder: Path
    factors: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.variant} seed {self.scenario.seed}"
