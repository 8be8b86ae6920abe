"""Independent and identically distributed clients."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import require_enough
from simfl.core.circumstances import Circumstances
from simfl.core.types import Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError


@partitions.register("iid")
class Iid(Partition):
    """Every client holds a random, equal share (to within one sample).  O(n).

    Or, where rows of the fleet's `trace` say it (`samples`), as many as its row does; samples that
    are left then are nobody's.
    """

    reads_labels: ClassVar[bool] = False
    deals_sizes: ClassVar[bool] = True

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        samples, told = circumstances.samples, circumstances.samples_told
        if told is None or samples is None:
            yield from super().objections(circumstances)
        else:
            _require(told, samples)

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_enough(self.name, samples, clients)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        n = len(source.labels)
        if source.sizes is not None:
            return _of_sizes(n, source.sizes, rng)
        self.check(n, source.classes, clients)
        return np.array_split(rng.permutation(n), clients)


def _of_sizes(n: int, sizes: Ids, rng: Rng) -> list[Ids]:
    """Return per client so many of `n` rows, at random.

    Raises:
        InputError: they are too few.
    """
    wanted = int(sizes.sum())
    _require(wanted, n)
    return np.split(rng.permutation(n)[:wanted], np.cumsum(sizes)[:-1])


def _require(wanted: int, samples: int) -> None:
    """Make sure that a data set has as many samples as devices are said to hold.

    Raises:
        InputError: it has not.
    """
    if wanted > samples:
        raise InputError(
            f"the fleet's trace gives its devices {numbered(wanted, 'sample')} in all, but the "
            f"training set has {samples:,}"
        )
