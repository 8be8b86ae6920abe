"""Arithmetic that several partitions share."""

import numpy as np
from numpy.typing import NDArray

from simfl.core.machine.memory import require_memory
from simfl.core.types import Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError

LARGEST = 1e9
"""Largest concentration of a Dirichlet distribution: its shares are equal, and its draws finite."""

_BYTES = 40
"""What dealing a sample takes at least: it and its owner before and after they are shuffled."""


def by_owner(rows: Ids, owners: Ids, clients: int, rng: Rng | None = None) -> list[Ids]:
    """Return per client the rows it owns, in random order (in the order given without `rng`).

    Args:
        rows: `(n,)` rows of the data set.
        owners: `(n,)` the client of each.
        clients: number of clients; those that own nothing get an empty array.
        rng: shuffles inside the clients, so that any cut of their rows is a fair one.
    """
    if rng is not None:
        order = rng.permutation(len(rows))
        rows, owners = rows[order], owners[order]
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=clients))[:-1]
    return np.split(rows[order], ends)


def rows_of_classes(labels: Ids, classes: int) -> list[Ids]:
    """Return per class `(n_c,)` its rows, ascending, of those with the `(n,)` labels."""
    return by_owner(np.arange(len(labels)), labels, classes)


def deal_counts(members: list[Ids], wanted: NDArray[np.int64], rng: Rng) -> list[Ids]:
    """Give each client the samples of each class that it wants, from one circular queue per class.

    A class is dealt in random order; once all of it is dealt it is shuffled and dealt again, so
    samples are shared by clients as evenly as can be.  A client that spans the end of a queue may
    get a sample twice.

    Args:
        members: per class its rows.
        wanted: `(clients, classes)`: how many of each class; first come, first served.
        rng: shuffles the queues and, at last, each client's rows.

    Returns:
        Per client its rows.
    """
    clients = len(wanted)
    rows, owners = [], []
    for label, queue in enumerate(members):
        demand = int(wanted[:, label].sum())
        passes = -(-demand // max(len(queue), 1))
        dealt = np.concatenate([rng.permutation(queue) for _ in range(passes)] or [queue[:0]])
        rows.append(dealt[:demand])
        owners.append(np.repeat(np.arange(clients), wanted[:, label]))
    return by_owner(np.concatenate(rows), np.concatenate(owners), clients, rng)


def require_enough(partition: str, samples: int, clients: int, least: int | None = None) -> None:
    """Raise an error if there are fewer than `least` samples (None: one) for each client.

    Raises:
        InputError: there are.
    """
    if samples < clients * (1 if least is None else least):
        each = "" if least is None else f" with at least {least} each (min_samples)"
        raise InputError(
            f"partition {partition!r} can't deal {numbered(samples, 'sample')} to "
            f"{numbered(clients, 'client')}{each}"
        )


def require_room(partition: str, samples: int, clients: int) -> None:
    """Raise an error if so many `samples` for each client are more than memory has room for.

    Raises:
        InputError: they are.
    """
    what = f"{numbered(samples, 'sample')} for each of {numbered(clients, 'client')}"
    require_memory(_BYTES * samples * clients, f"partition {partition!r} with {what}")


def require_every_class(partition: str, members: list[Ids]) -> None:
    """Raise an error if a class has no samples to deal.

    Args:
        partition: its name.
        members: `(m,)` the rows of each class.

    Raises:
        InputError: names the first empty class.
    """
    for label, rows in enumerate(members):
        if not len(rows):
            raise InputError(f"partition {partition!r} needs samples of class {label}; none there")
