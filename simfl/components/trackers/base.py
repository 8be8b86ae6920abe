"""The seam of trackers: programs in which people keep the results of many experiments.

They are told of a run while it goes on, and can't change it.  Of one that was interrupted and is
resumed they are told again from its start: what they kept of it before is replaced.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry


@dataclass(frozen=True)
class Step:
    """What is known at the end of a round.

    Attributes:
        round: from 1; 0: before any training, where the initial model was judged.
        time_s: virtual time.
        numbers: by name, such as accuracy; what was not measured is left out.
    """

    round: int
    time_s: float
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class TrackedRun:
    """A run that begins.

    Attributes:
        scenario: its name.
        variant: which.
        seed: of all randomness.
        options: the resolved scenario: ``rounds.clients`` -> 10, ``fleet[0].count`` -> 100.
        top: the folder of all runs of this scenario; nothing is to be written below the run's own.
    """

    scenario: str
    variant: str
    seed: int
    options: Mapping[str, Any]
    top: Path

    @property
    def title(self) -> str:
        """What it is called among others."""
        return f"{self.variant} seed {self.seed}"

    @property
    def place(self) -> Path:
        """Where it stands below the folder of all runs."""
        return Path(self.variant, f"seed-{self.seed}")


class Record(ABC):
    """What a tracker keeps of one run."""

    @abstractmethod
    def add(self, steps: Sequence[Step]) -> None:
        """Keep rounds, one at least, that ended since the last call; readers find them at once."""

    @abstractmethod
    def end(self, totals: Mapping[str, float] | None) -> None:
        """Close the record.

        Args:
            totals: of the whole run, by name; None: it was interrupted.
        """


class Tracker(Component, ABC):
    """A program that keeps results, on this machine: nothing is sent anywhere."""

    package: ClassVar[str] = ""
    """What must be installed; simfl's extra has the same name as the component."""

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.package and find_spec(self.package) is None:
            yield (
                f"tracker {self.name!r} needs {self.package}, which is not installed: "
                f"pip install 'simfl[{self.name}]'"
            )

    @abstractmethod
    def begin(self, run: TrackedRun) -> Record:
        """Return an empty record of `run`, in place of one that was interrupted."""


trackers: Registry[Tracker] = Registry("tracker", "simfl.components.trackers")
