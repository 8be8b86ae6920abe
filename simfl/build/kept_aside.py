"""What of each client's samples is kept from training: to measure its local loss on, or to test."""

from dataclasses import replace

import numpy as np

from simfl.components.datasets.base import Corpus
from simfl.components.datasets.clients import Samples
from simfl.core.apportion import whole_share
from simfl.core.seeds import Seeds
from simfl.core.types import Ids


def pooled(corpus: Corpus) -> Corpus:
    """Return `corpus` with its test samples put behind its training samples."""
    x = np.concatenate([corpus.train.x, corpus.test.x])
    y = np.concatenate([corpus.train.y, corpus.test.y])
    return Corpus(Samples(x, y), corpus.test, corpus.classes, disposable=True)


def hold_out(
    corpus: Corpus, dealt: list[Ids], test_share: float, seeds: Seeds
) -> tuple[Corpus, list[Ids]]:
    """Cut a test part from each client's own rows; the test set is their union.

    Args:
        corpus: the data set.
        dealt: `(m,)` each client's rows of its training samples.
        test_share: of them that are for testing.
        seeds: the run's root of randomness.

    Returns:
        The data set with that test set, and each client's `(m,)` rows to train on.
    """
    train, test = [], []
    for client, rows in enumerate(dealt):
        shuffled = rows[seeds.stream("data", "hold_out", client).permutation(len(rows))]
        cut = whole_share(1 - test_share, len(rows))
        train.append(shuffled[:cut])
        test.append(shuffled[cut:])
    rows = np.concatenate(test)
    tested = Samples(corpus.train.x[rows], corpus.train.y[rows])
    return replace(corpus, test=tested), train


def keep_aside(dealt: list[Ids], share: float) -> tuple[list[Ids], list[Ids]]:
    """Return each client's rows to train on, at least one sample, and those for its local loss.

    Args:
        dealt: `(m,)` each client's rows.
        share: of them to keep aside: the last ones.
    """
    cuts = [_cut(rows, max(whole_share(1 - share, len(rows)), 1)) for rows in dealt]
    return [cut[0] for cut in cuts], [cut[1] for cut in cuts]


def _cut(rows: Ids, first: int) -> tuple[Ids, Ids]:
    """Return the `first` of a client's `rows`, and the others.

    A row that was dealt more than once is on one side with all its copies: nobody is measured on
    what it trains on.  There may then be fewer first ones.
    """
    if first >= len(rows):
        return rows, rows[:0]
    _, places, which, copies = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    if len(places) == len(rows):
        return rows[:first], rows[first:]
    order = np.argsort(places)
    ends = np.cumsum(copies[order])
    is_first = np.empty(len(places), dtype=np.bool_)
    is_first[order] = ends <= max(first, ends[0])
    return rows[is_first[which]], rows[~is_first[which]]


def shuffled(dealt: list[Ids], seeds: Seeds) -> list[Ids]:
    """Shuffle the `(m,)` rows of each client, as partitions do that deal them."""
    return [
        rows[seeds.stream("data", "validation", client).permutation(len(rows))]
        for client, rows in enumerate(dealt)
    ]
