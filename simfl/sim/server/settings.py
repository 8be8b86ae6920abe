"""What the server is told: the work, when to stop, what things cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from simfl.core.work import Plan
from simfl.sim.server.probing import Prices


@dataclass(frozen=True)
class Stop:
    """When a run ends: whichever comes first (None: not by that)."""

    rounds: int | None = None
    time_s: float | None = None
    accuracy: float | None = None
    size: int | None = None


@dataclass(frozen=True)
class Settings:
    """What the server was told.

    Attributes:
        clients: how many to select per round.
        epochs: nominal local epochs.
        steps: nominal local steps, instead of epochs.
        batch_size: of local training.
        convex: whether the model has no hidden layer.
        stop: when to end.
        evaluate_every: rounds between evaluations.
        targets: accuracies whose first crossing is noted.
        prices: what everything costs.
        wants: what participants measure beside their update.
        filters_updates: whether clients decide after training if their update is worth an upload.
        memory_bytes: what training takes of a device's memory.
    """

    clients: int
    epochs: int
    steps: int | None
    batch_size: int
    convex: bool
    stop: Stop
    evaluate_every: int
    targets: Sequence[float]
    prices: Prices
    wants: Sequence[str] = ()
    memory_bytes: int = 0
    filters_updates: bool = False

    @property
    def nominal(self) -> Plan:
        """The full workload."""
        return Plan(steps=self.steps) if self.steps is not None else Plan(self.epochs)
