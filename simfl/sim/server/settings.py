"""What the server is told: the work, when to stop, what things cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simfl.core.epsilon import Privacy
from simfl.core.evaluation import Evaluation
from simfl.core.rows import RoundRow, round_row
from simfl.core.work import FORWARD_UNITS, Plan

SCALAR_BYTES = 4
"""A number that a client reports, such as its loss."""


@dataclass(frozen=True)
class Stop:
    """When a run ends: whichever comes first (None: not by that).

    Attributes:
        rounds: aggregations.
        time_s: virtual seconds.
        accuracy: of an evaluation.
        size: bytes moved, in both directions.
        energy_j: joules of devices at work.
        target: another number of an evaluation than its accuracy.
        epsilon: privacy that no client may have spent more of.
    """

    rounds: int | None = None
    time_s: float | None = None
    accuracy: float | None = None
    size: int | None = None
    energy_j: float | None = None
    target: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True)
class Prices:
    """What things cost.

    Attributes:
        model_bytes: size of the model on the way down.
        update_bytes: size of a (compressed) update on the way up.
        profile_bytes: size of an FC-1 profile.
        charge_probes: whether probes cost anything.
        correction_bytes: size of what corrects a participant's gradients, on the way down.
        report_bytes: size of what it reports of its gradients, on the way up.
    """

    model_bytes: int
    update_bytes: int
    profile_bytes: int = 0
    charge_probes: bool = True
    correction_bytes: int = 0
    report_bytes: int = 0

    @property
    def down_bytes(self) -> int:
        """What a participant without the model downloads."""
        return self.model_bytes + self.correction_bytes

    @property
    def up_bytes(self) -> int:
        """What a participant uploads, measurements for the selector aside."""
        return self.update_bytes + self.report_bytes


def accuracy_reached(evaluation: Evaluation, target: float) -> bool:
    """Return whether an evaluation has an accuracy, and that is at `target`."""
    return evaluation.accuracy is not None and evaluation.accuracy >= target


@dataclass(frozen=True)
class Settings:
    """What the server was told.

    Attributes:
        clients: how many to select per round.
        min_clients: how many must be available before a round begins (None: as many as are to be
            asked, or all who are not at work and ever will be).
        epochs: nominal local epochs.
        steps: nominal local steps, instead of epochs.
        batch_size: of local training.
        convex: whether the model has no hidden layer.
        stop: when to end.
        evaluate_every: rounds between evaluations.
        evaluate_initial: whether the model that the run begins with is judged, too.
        targets: accuracies, and values of other numbers, whose first crossing is noted.
        reached: returns whether an evaluation is at a target.
        metrics: what evaluations measure beside accuracy and loss.
        prices: what everything costs.
        wants: what participants measure beside their update, as far as it costs something.
        filters_updates: whether clients decide after training if their update is worth an upload.
        memory_bytes: what training takes of a device's memory.
        forward_units: of a forward pass over one sample, in what training on it takes.
        privacy: what each round spends of it (None: nothing, or nobody can tell).
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
    metrics: tuple[str, ...] = ()
    memory_bytes: int = 0
    forward_units: float = FORWARD_UNITS
    min_clients: int | None = None
    filters_updates: bool = False
    evaluate_initial: bool = False
    reached: Callable[[Evaluation, float], bool] = accuracy_reached
    privacy: Privacy | None = None

    @property
    def row(self) -> type[RoundRow]:
        """What is told of each round."""
        return round_row(self.metrics, private=self.privacy is not None)

    @property
    def nominal(self) -> Plan:
        """The full workload."""
        return Plan.nominal(self.epochs, self.steps)
