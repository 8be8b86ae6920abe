"""Pachinko allocation: clients prefer some groups of classes, and some classes of each group.

Reddi et al., "Adaptive Federated Optimization", ICLR 2021, arXiv:2003.00295; after the
topic model of Li & McCallum, ICML 2006.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import LARGEST, deal_counts, rows_of_classes
from simfl.core.circumstances import Circumstances
from simfl.core.types import Flags, Floats, Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError

NOTHING = 1e-250
"""Shares that add up to less are drawn anew: such numbers have few digits."""
Group = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


@partitions.register("pachinko")
class Pachinko(Partition):
    """Each client draws shares of superclasses, and of the classes of each; by these, its samples.

    Client after client, without replacement: the share of a class of which none is left goes to the
    others of its superclass, and that of a superclass to the others.  All clients get as many.  The
    paper's CIFAR-100 is ``{dataset: cifar100, partition: pachinko}`` with 500 devices.
    O(n + clients * classes).
    """

    alpha: float = Field(
        0.1, gt=0, le=LARGEST, description="concentration of each client's superclasses"
    )
    beta: float = Field(
        10.0, gt=0, le=LARGEST, description="concentration of the classes of each superclass"
    )
    per_client: Annotated[int, Field(ge=1)] | None = Field(
        None, description="samples of each client (N); omitted: all that there are, evenly"
    )
    superclasses: Annotated[tuple[Group, ...], Field(min_length=1)] | None = Field(
        None,
        description="lists of classes, by number; omitted: those of the data set (cifar100's 20)",
        examples=[[[0, 1], [2, 3, 4]]],
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if circumstances.targets != "classes":
            return
        known = circumstances.superclasses
        if circumstances.samples is not None:
            self._groups(known, circumstances.classes)
        elif self.superclasses is None and known is None:
            self._groups(None, 0)

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        each = self.per_client or 1
        if samples < clients * each:
            raise InputError(
                f"partition {self.name!r} can't deal {numbered(samples, 'sample')} to "
                f"{numbered(clients, 'client')}, {each} each"
            )

    @override
    def samples_each(self, samples: int, clients: int) -> int:
        return self.per_client or samples // clients

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        groups = self._groups(source.superclasses, source.classes)
        members = rows_of_classes(source.labels, source.classes)
        left = np.array([len(rows) for rows in members])
        each = self.samples_each(len(source.labels), clients)
        wanted = np.zeros((clients, source.classes), dtype=np.int64)
        for client in range(clients):
            wanted[client] = self._draw(left, groups, each, rng)
            left -= wanted[client]
        return deal_counts(members, wanted, rng)

    def _groups(self, known: Sequence[int] | None, classes: int) -> Ids:
        """Return `(classes,)` the number of the superclass of each class, from 0 without a gap.

        Raises:
            InputError: there are none, or they are not of these classes.
        """
        if self.superclasses is None and known is None:
            raise InputError(
                f"partition {self.name!r} needs classes that belong to superclasses: those of data "
                "set 'cifar100' with `labels: fine`, or `superclasses: [[0, 1], [2, 3]]`"
            )
        pairs = [(label, group) for label, group in enumerate(() if known is None else known)]
        if self.superclasses is not None:
            pairs = [(c, group) for group, own in enumerate(self.superclasses) for c in own]
        if sorted(label for label, _ in pairs) != list(range(classes)):
            raise InputError(
                f"partition {self.name!r}: `superclasses` must hold each of the {classes} classes, "
                f"0 to {classes - 1}, once"
            )
        return np.unique([group for _, group in sorted(pairs)], return_inverse=True)[1]

    def _draw(self, left: Ids, groups: Ids, each: int, rng: Rng) -> Ids:
        """Return `(classes,)` how many samples of each class a client gets, of those `left`."""
        taken, fine = np.zeros_like(left), np.zeros(len(left))
        coarse = np.zeros(int(groups.max()) + 1)
        while (missing := each - int(taken.sum())) > 0:
            there = taken < left
            shares = self._shares(coarse, fine, groups, there, rng)
            drawn = rng.choice(len(left), size=missing, p=shares)
            # Until a class runs out, which changes the shares, draws don't depend on each other.
            counts = np.bincount(drawn, minlength=len(left))
            ends = [
                np.flatnonzero(drawn == label)[left[label] - taken[label] - 1] + 1
                for label in np.flatnonzero(there & (counts >= left - taken))
            ]
            taken += np.bincount(drawn[: min(ends, default=missing)], minlength=len(left))
        return taken

    def _shares(self, coarse: Floats, fine: Floats, groups: Ids, there: Flags, rng: Rng) -> Floats:
        """Return `(classes,)` how likely a client's next sample is of each class.

        Args:
            coarse: `(superclasses,)` shares of the client, drawn here where none is left of any.
            fine: `(classes,)` shares within the superclass of each, likewise.
            groups: `(classes,)` the superclass of each.
            there: `(classes,)` whether a sample of it is left.
            rng: draws.
        """
        within = np.bincount(groups, fine * there, len(coarse))
        for group in np.unique(groups[there]):
            if within[group] < NOTHING:
                members = np.flatnonzero(there & (groups == group))
                fine[members] = rng.dirichlet(np.full(len(members), self.beta))
                within[group] = 1.0
        some = within > 0
        if (coarse * some).sum() < NOTHING:
            coarse[some] = rng.dirichlet(np.full(some.sum(), self.alpha))
        shares = coarse * some / (coarse * some).sum() / np.where(some, within, 1.0)
        each: Floats = shares[groups] * fine * there
        each /= each.sum()
        return each
