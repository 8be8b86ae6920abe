"""MNIST with two digits per client and power-law sizes, as in FedProx and FedCore.

Li et al., arXiv:1812.06127, appendix C; the released generator's recipe (docs/algorithms.md, D.5).
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import rows_of_classes
from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids, Rng
from simfl.errors import InputError

FLOOR = 5
"""Samples of each of its two labels that every client gets first."""


@partitions.register("power_law_two_digits")
class PowerLawTwoDigits(Partition):
    """Client u holds labels u and u + 1 (modulo the classes), in log-normal amounts.

    Training and test sets are pooled first; of each client's rows, a share (`data.test_share`) is
    its test part.  The number of clients must be a multiple of the number of classes (the papers:
    1,000 and 10).  O(n + clients).
    """

    pools_test: ClassVar[bool] = True

    generator_seed: int | None = Field(
        5,
        ge=0,
        le=2**32 - 1,
        description="seed of the amounts; 5 comes near the published sizes; null: the run's own",
    )

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        if clients % classes or classes < 2:
            raise InputError(
                f"partition {self.name!r} needs a number of devices that is a multiple of the "
                f"{classes} classes, but got {clients}"
            )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if circumstances.targets == "classes":
            self.check(0, circumstances.classes, circumstances.devices)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        classes = source.classes
        members = rows_of_classes(source.labels, classes)
        reserved = 2 * FLOOR * clients // classes
        scarce = [label for label, rows in enumerate(members) if len(rows) < reserved]
        if scarce:
            raise InputError(
                f"partition 'power_law_two_digits' needs {reserved} samples of each class for "
                f"{clients} devices, but class {scarce[0]} has {len(members[scarce[0]])}"
            )
        amounts = self._amounts(members, clients, reserved, rng)
        taken = np.zeros(classes, dtype=np.int64)
        dealt: list[list[Ids]] = [[] for _ in range(clients)]
        for client, _, label in _visits(clients, classes):
            dealt[client].append(members[label][taken[label] : taken[label] + FLOOR])
            taken[label] += FLOOR
        for client, j, label in _visits(clients, classes):
            end = taken[label] + amounts[label, client // classes, j]
            if end <= len(members[label]):  # else this client gets no more of this label
                dealt[client].append(members[label][taken[label] : end])
                taken[label] = end
        return [rng.permutation(np.concatenate(parts)) for parts in dealt]

    def _amounts(self, members: list[Ids], clients: int, reserved: int, rng: Rng) -> Ids:
        """Return how much more of a label a client wants, `(classes, clients / classes, 2)`."""
        classes = len(members)
        seed = self.generator_seed
        if seed is None:
            seed = int(rng.integers(2**32))
        drawn = np.random.RandomState(seed).lognormal(0, 2.0, (classes, clients // classes, 2))
        left = np.array([len(rows) - reserved for rows in members]).reshape(-1, 1, 1)
        amounts: Ids = (left * drawn / drawn.sum(axis=(1, 2), keepdims=True)).astype(np.int64)
        return amounts


def _visits(clients: int, classes: int) -> list[tuple[int, int, int]]:
    return [(u, j, (u + j) % classes) for u in range(clients) for j in range(2)]
