"""Clients dominated by one label to a chosen degree, FL-DP3S's xi.

Zhang et al., FL-DP3S, section 4, after Wang et al., FAVOR, INFOCOM 2020 (docs/algorithms.md, D.3).
"""

from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import (
    deal_counts,
    require_every_class,
    require_room,
    rows_of_classes,
)
from simfl.core.apportion import whole_share
from simfl.core.types import Ids, Rng
from simfl.core.units import Percent


@partitions.register("skewness")
class Skewness(Partition):
    """Share `xi` of each client's samples has its preferred label, the rest is spread evenly.

    Where a label runs out its samples are dealt again.
    O(n log n).
    """

    xi: Percent | Literal["H", "H_balanced"] = Field(
        1.0,
        description="share of the preferred label; H: half of it, half of one random other label; "
        "H_balanced: the other label is the next one, so that every label is wanted equally; "
        "FL-DP3S: 1, 0.8, 0.5 and H",
    )
    labels: Literal["equally", "independently"] = Field(
        "equally",
        description="equally many clients prefer each label (FL-DP3S), or each client draws its "
        "own independently (FAVOR)",
    )
    samples: int | None = Field(
        None, ge=1, description="samples per client (600 in FL-DP3S); null: an equal share of all"
    )

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_room(self.name, self.samples or 1, clients)

    @override
    def samples_each(self, samples: int, clients: int) -> int:
        return self.samples or samples // clients

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        members = rows_of_classes(source.labels, source.classes)
        require_every_class(self.name, members)
        if self.labels == "equally":
            preferred = rng.permutation(np.arange(clients) % source.classes)
        else:
            preferred = rng.integers(source.classes, size=clients)
        size = self.samples or max(len(source.labels) // clients, 1)
        wanted = self._wanted(preferred, source.classes, size, rng)
        return deal_counts(members, wanted, rng)

    def _wanted(self, preferred: Ids, classes: int, size: int, rng: Rng) -> Ids:
        everyone = np.arange(len(preferred))
        wanted = np.zeros((len(preferred), classes), dtype=np.int64)
        if classes == 1:
            wanted[:] = size
        elif isinstance(self.xi, str):
            step: Ids | int = 1
            if self.xi == "H":
                step = rng.integers(1, classes, size=len(preferred))
            wanted[everyone, preferred] = size - size // 2
            wanted[everyone, (preferred + step) % classes] = size // 2
        else:
            main = whole_share(self.xi, size)
            share, over = divmod(size - main, classes - 1)
            rank = np.tile(np.arange(classes), (len(preferred), 1))
            rank -= rank > preferred[:, None]  # position among the other labels
            wanted[:] = share + (rank < over)  # what is left over goes to the first of them
            wanted[everyone, preferred] = main
        return wanted
