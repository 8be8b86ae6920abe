"""What a component may know of the scenario it stands in, to say what it can't go with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from simfl.core.words import numbered


@dataclass(frozen=True)
class Architecture:
    """What can be known of a model without training it.

    Attributes:
        hidden: units of its first hidden fully connected layer (0: it has none).
        tokens: whether its inputs are tokens, whole numbers, and nothing else.
        batch_norm: whether it has batch norm layers.
        reads_tokens: whether it takes tokens, be it beside measurements.
        frozen: how many of its parameters are not trained.
        personal: how many each device trains for itself, and sends nobody.
        trained: how many are trained, be they sent or personal.
    """

    hidden: int
    tokens: bool
    batch_norm: bool = False
    reads_tokens: bool = False
    frozen: int = 0
    personal: int = 0
    trained: int = 0

    @property
    def all_personal(self) -> bool:
        """Whether all that is trained is personal, so that nothing is sent."""
        return 0 < self.personal == self.trained


@dataclass(frozen=True)
class Circumstances:
    """Plain facts of a scenario and of how it is to be run; what costs something is asked for.

    Attributes:
        trains: whether anything is trained (not under ``--time-only``).
        devices: of the whole fleet.
        clients: wanted per round.
        ends_by: keys of `rounds.stop` that end a run.
        policy: name of the round policy.
        tiers: how many tiers of clients it has (1: none).
        may_be_stale: whether an update can be older than the model it meets.
        withheld_by: name of a filter with which clients keep updates from the server, or empty.
        training: how clients train: a `LocalTraining`, which no module on this floor can name.
        steps: mini-batches of nominal local work (None: it is counted in epochs).
        dataset: name of the data set.
        partition: name of the partition.
        tokens: whether inputs are tokens, whole numbers (None: not known before they are loaded).
        has_natural: whether the data set has clients of its own.
        targets: what the data set's targets are: classes, labels or numbers.
        awaits_accuracy: whether an accuracy ends the run, or is a target to be reached.
        deals_itself: whether the data set makes each client's samples when they are asked for.
        input_of: returns the shape of one input and the number of classes.
        samples: training samples of the data set (None: not known before they are loaded).
        natural: how many clients of its own it has (None: not known before they are loaded).
        natural_most: how many it has at the most, of whom some may have nothing to train on (None:
            not known).
        samples_told: how many samples the fleet's traces say that its devices hold, all together
            (None: they don't, or it is not known yet).
        vocabulary: how many tokens, numbered from 0, the data set's inputs are made of (None: not
            known before they are loaded).
        superclasses: the number of the group that each class belongs to (None: to none).
        folder: where files are that are named relatively (None: don't look at any yet).
        look: looks into the model.
    """

    trains: bool
    devices: int
    clients: int
    ends_by: frozenset[str]
    policy: str
    tiers: int
    may_be_stale: bool
    withheld_by: str
    training: Any
    steps: int | None
    dataset: str
    partition: str
    tokens: bool | None
    has_natural: bool
    targets: str
    awaits_accuracy: bool
    deals_itself: bool
    input_of: Callable[[], tuple[tuple[int, ...], int]]
    samples: int | None = None
    natural: int | None = None
    natural_most: int | None = None
    samples_told: int | None = None
    vocabulary: int | None = None
    superclasses: Sequence[int] | None = None
    folder: Path | None = None
    look: Callable[[], Architecture | None] = lambda: None

    def fewer_than(self, tiers: int, default: int) -> str:
        """Return that the fleet has fewer devices than `tiers` ("": it has not, or the default)."""
        if tiers <= max(self.devices, default):
            return ""
        return f"the fleet has only {numbered(self.devices, 'device')}"

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return self.input_of()[0]

    @cached_property
    def classes(self) -> int:
        """Number of classes."""
        return self.input_of()[1]

    @cached_property
    def architecture(self) -> Architecture | None:
        """What is known of the model (None: nothing yet)."""
        return self.look()
