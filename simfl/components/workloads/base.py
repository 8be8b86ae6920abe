"""The seam of workloads: data size, speed and time left -> how much a client trains."""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from simfl.components.coresets.base import Coreset
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.work import Plan


@dataclass(frozen=True)
class Assignment:
    """What a workload may look at when it plans one participation.

    Attributes:
        client: its id.
        samples: its training samples (m).
        batch_size: mini-batch size (B).
        epochs: nominal local epochs (E); ignored where `steps` is set.
        steps: nominal local steps, or None.
        fits: whether a plan of so many units ends by the deadline, in exactly the arithmetic that
            the simulation will use.
        rng_seed: 64-bit number of this participation, for workloads that draw.
        convex: whether the model has no hidden layer, so that a coreset of raw inputs serves it.
    """

    client: int
    samples: int
    batch_size: int
    epochs: int
    steps: int | None
    fits: Callable[[float], bool]
    rng_seed: int
    convex: bool = False

    def units(self, plan: Plan) -> float:
        """Return what `plan` costs this client, in sample-units."""
        return plan.units(self.samples, self.batch_size)

    def nominal(self) -> Plan:
        """Return the full workload."""
        return Plan.nominal(self.epochs, self.steps)


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest of ``1..limit`` that fits, 0 if none does.

    `fits` must not turn true again once it is false.  Asking it, instead of dividing the time left,
    decides exact ties as the simulation will.

    >>> most(10, lambda epochs: epochs * 60 <= 250)
    4
    """
    return bisect_left(range(1, limit + 1), True, key=lambda amount: not fits(amount))


class Workload(Component, ABC):
    """What a client does when its time may be short."""

    needs_epochs: ClassVar[bool] = False
    """Whether it can't go with local work that is counted in steps."""

    @property
    def coreset(self) -> Coreset | None:
        """What chooses coresets, where it plans any (None: it never does)."""
        return None

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.needs_epochs and circumstances.steps is not None:
            yield f"workload {self.name!r} needs `epochs`, not `steps`"

    def asks_all(self, *, timed: bool) -> bool:
        """Return whether it is sure to ask every client with samples for the nominal work.

        Who says so of its own `plan` does not of one that a subclass has.

        Args:
            timed: whether a deadline may leave too little time for it.
        """
        return False

    @abstractmethod
    def plan(self, assignment: Assignment) -> Plan | None:
        """Return the plan, or None if nothing useful fits (the client is skipped)."""


workloads: Registry[Workload] = Registry("workload", "simfl.components.workloads", "full")
