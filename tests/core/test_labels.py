"""Who holds which labels, counted."""

import numpy as np

from simfl.core.labels import label_counts, skew
from tests.dealt import DEALT, LABELS


def test_labels_of_dealt_rows_are_counted_by_client():
    assert label_counts(DEALT, LABELS, 3).tolist() == [[1, 1, 0], [0, 0, 0], [2, 0, 1]]
    assert label_counts([], LABELS, 3).shape == (0, 3)


def test_skew_of_pure_and_of_representative_clients():
    pure = np.eye(10, dtype=np.int64) * 600
    np.testing.assert_allclose(
        skew(pure), 1.8
    )  # docs/algorithms.md, G.2: all of one of ten classes
    np.testing.assert_allclose(skew(np.full((4, 10), 7)), 0)
    assert np.isnan(skew(label_counts(DEALT, LABELS, 3))[1])
