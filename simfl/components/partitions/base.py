"""The seam of data partitions: labels -> which rows each client holds."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Ids, Rng


@dataclass(frozen=True)
class Source:
    """What a partition may look at.

    Attributes:
        labels: `(n,)` class of each training sample (all 0 where targets are no classes).
        classes: number of classes.
        natural: per natural client the rows it holds, where the data set has clients of its own.
        superclasses: `(classes,)` number of the group that each class belongs to, where they do.
        sizes: `(clients,)` how many samples each holds, where the fleet's file says it.
    """

    labels: Ids
    classes: int
    natural: Sequence[Ids] | None = None
    superclasses: Sequence[int] | None = None
    sizes: Ids | None = None


class Partition(Component, ABC):
    """Deals the rows of a data set to clients."""

    pools_test: ClassVar[bool] = False
    """Whether training and test sets are pooled before dealing (the test set is then cut from each
    client's own rows)."""

    reads_labels: ClassVar[bool] = True
    """Whether it looks at classes, so that the data set's targets must be such."""

    deals_natural: ClassVar[bool] = False
    """Whether it deals the data set's own clients as they are; those whom it leaves out have no
    part in the test set, either."""

    deals_sizes: ClassVar[bool] = False
    """Whether it deals each client as many samples as `Source.sizes` says, where that is given."""

    def check(self, samples: int, classes: int, clients: int) -> None:
        """Make sure that so many samples of so many classes suffice for so many clients.

        Raises:
            InputError: they don't.
        """

    def samples_each(self, samples: int, clients: int) -> int:
        """Return how many of a data set's `samples` a client holds, about; for estimates."""
        return samples // clients

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.reads_labels and circumstances.targets != "classes":
            yield (
                f"partition {self.name!r} deals by classes, but the targets of data set "
                f"{circumstances.dataset!r} are {circumstances.targets}; use iid, natural or "
                "power_law"
            )
        elif circumstances.samples is not None and not self.pools_test:
            self.check(circumstances.samples, circumstances.classes, circumstances.devices)

    @abstractmethod
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        """Return per client `(n_k,)` the rows it holds, `clients` arrays in client order.

        Raises:
            InputError: the data can't be dealt that way to that many clients.
        """


partitions: Registry[Partition] = Registry("partition", "simfl.components.partitions")
