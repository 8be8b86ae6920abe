"""The data set's own clients: users, roles, or the generator's devices."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.core.types import Ids
from simfl.errors import InputError


@partitions.register("natural")
class Natural(Partition):
    """Each device is one of the data set's own clients; further ones are left out."""

    reads_labels: ClassVar[bool] = False

    clients: Literal["random", "first"] = Field(
        "random", description="which natural clients take part where there are fewer devices"
    )

    def choose(self, natural: int, clients: int, rng: np.random.Generator) -> Ids:
        """Return which of `natural` clients take part: `clients` indices, ascending."""
        if self.clients == "first" or clients == natural:
            return np.arange(clients)
        return np.sort(rng.choice(natural, size=clients, replace=False))

    @override
    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        if source.natural is None:
            raise InputError(
                "partition 'natural' needs a data set with clients of its own "
                "(synthetic, shakespeare); others are dealt by iid, shards, dirichlet, ..."
            )
        if clients > len(source.natural):
            raise InputError(
                f"partition 'natural' has {len(source.natural)} clients, fewer than "
                f"the fleet's {clients} devices"
            )
        return [source.natural[i] for i in self.choose(len(source.natural), clients, rng)]
