"""The data set's own clients: users, roles, or the generator's devices."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError


@partitions.register("natural")
class Natural(Partition):
    """Each device is one of the data set's own clients; others are left out, test samples too.

    Devices, in the order of the fleet's groups, are clients in theirs: those of your own data by
    name (numbers by size), without any that has no sample to train on.
    """

    reads_labels: ClassVar[bool] = False
    deals_natural: ClassVar[bool] = True

    clients: Literal["random", "first"] = Field(
        "random", description="which natural clients take part if there are fewer devices"
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        """Data sets that deal themselves have as many clients as the fleet has devices."""
        if not circumstances.has_natural:
            yield from self._complaint(None, circumstances.devices)
        else:
            exact, most = circumstances.natural, circumstances.natural_most
            known = most if exact is None else exact
            if known is not None:
                yield from self._complaint(known, circumstances.devices)

    def _complaint(self, natural: int | None, clients: int) -> Iterator[str]:
        if natural is None:
            yield (
                f"partition {self.name!r} needs a data set with clients of its own "
                "(synthetic, your own with `client`); others are dealt by iid, shards, dirichlet"
            )
        elif clients > natural:
            yield (
                f"partition {self.name!r} has {numbered(natural, 'client')} with samples to train "
                f"on, fewer than the fleet's {numbered(clients, 'device')}"
            )

    def choose(self, natural: int, clients: int, rng: Rng) -> Ids:
        """Return `(clients,)` which of `natural` clients take part, ascending."""
        if self.clients == "first" or clients == natural:
            return np.arange(clients)
        return np.sort(rng.choice(natural, size=clients, replace=False))

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        natural = source.natural or []
        for message in self._complaint(len(natural) or None, clients):
            # Else it would have been an objection: how many there are was not known before.
            hint = (
                "; clients whose samples all are for testing (`test_share` draws them) don't count"
            )
            raise InputError(message + (hint if natural else ""))
        return [natural[i] for i in self.choose(len(natural), clients, rng)]
