"""Whose labels are wrong: what an attack does to the data before the first round."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simfl.components.attacks.base import Attack
from simfl.components.datasets.clients import ClientData, Samples
from simfl.core.blame import blaming
from simfl.core.component import overrides
from simfl.core.readonly import read_only
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Ids
from simfl.errors import InputError
from simfl.training.data import Partitioned


def poisoned(
    data: ClientData, clients: Sequence[int], attack: Attack, classes: int, seeds: Seeds
) -> ClientData:
    """Return `data` with the training labels that some clients take for the right ones.

    What they keep aside for their local loss keeps its labels.  Of an attack that begins later the
    wrong labels lie behind the others, with inputs of their own: O(n) memory for so many samples.

    Args:
        data: who holds which samples.
        clients: who attacks.
        attack: how.
        classes: their number.
        seeds: each client's stream is addressed ``("attack", "labels", client)``.

    Raises:
        InputError: they share samples with others, or samples are not held in memory.
    """
    if not overrides(attack, Attack.relabel):
        return data
    if not isinstance(data, Partitioned):
        raise InputError(f"attack {attack.name!r} needs samples that are held in memory")
    everybodys = np.concatenate([*data.train_rows, *data.validation_rows])
    holders = np.bincount(everybodys, minlength=len(data.samples))
    labels, begins_later = data.samples.y.copy(), attack.from_round > 1
    later, wrong_labels = dict(data.later), list[Ids]()
    copied = list[Ids]()
    for client in clients:
        rows = data.train_rows[client]
        if (holders[rows] > 1).any():
            raise InputError(
                f"attack {attack.name!r} changes labels, and client {client} has samples that were "
                "dealt more than once"
            )
        with blaming(attack, f"relabelling the samples of client {client}", told_as=InputError):
            own = read_only(labels[rows])
            wrong = attack.relabel(own, classes, seeds.stream("attack", "labels", client))
            _check(wrong, len(rows), classes)
        if begins_later:
            first = len(labels) + sum(map(len, copied))
            later[client] = attack.from_round, np.arange(first, first + len(rows))
            copied.append(rows)
            wrong_labels.append(wrong)
        else:
            labels[rows] = wrong
    x = data.samples.x
    if copied:
        x = np.concatenate([x, x[np.concatenate(copied)]])
        labels = np.concatenate([labels, *wrong_labels]).astype(labels.dtype)
    return replace(data, samples=Samples(x, labels), later=later)


def _check(labels: Ids, n: int, classes: int) -> None:
    """Raise `Unexpected` unless these are `(n,)` classes."""
    expected = f"{n} classes from 0 to {classes - 1}"
    whole = isinstance(labels, np.ndarray) and labels.dtype.kind in "iu"
    expect(whole and labels.shape == (n,), expected, labels)
    expect(not n or (labels.min() >= 0 and labels.max() < classes), expected, labels)
