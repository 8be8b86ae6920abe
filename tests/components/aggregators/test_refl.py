"""REFL's staleness-aware aggregation: its weights by hand."""

import numpy as np
import pytest

from tests.components.aggregators.by_hand import aggregate, contribution

FRESH = [contribution(2), contribution(4, client=1)]  # their mean is 3
NEAR = contribution(16, client=2, base=10, staleness=4)  # an update of 6: 9 from it, squared
FAR = contribution(14, client=3, base=5, staleness=1)  # of 9: 36 from it, the farthest


@pytest.mark.parametrize("beta", [0, 0.35, 1])
def test_what_the_fresh_ones_do_not_tell_counts_for_more(beta: float) -> None:
    near = (1 - beta) / 5 + beta * (1 - np.exp(-9 / 36))
    far = (1 - beta) / 2 + beta * (1 - np.exp(-1))
    moved = (2 + 4 + 6 * near + 9 * far) / (2 + near + far)
    found = aggregate({"name": "refl", "beta": beta}, [*FRESH, NEAR, FAR], 100.0)
    assert found == pytest.approx([100 + moved])


def test_fresh_ones_alone_are_averaged() -> None:
    arrived = [contribution(2, samples=1), contribution(4, samples=3, client=1, copies=2)]
    for weighting in ("uniform", "samples"):
        expected = aggregate({"name": "fedavg", "weighting": weighting}, arrived)
        assert aggregate({"name": "refl", "weighting": weighting}, arrived) == expected


def test_stale_ones_alone_count_by_their_staleness() -> None:
    moved = (6 / 5 + 9 / 2) / (1 / 5 + 1 / 2)
    assert aggregate("refl", [NEAR, FAR], 100.0) == pytest.approx([100 + moved])
    assert aggregate({"name": "refl", "beta": 1}, [NEAR, FAR], 7.0).tolist() == [7]


def test_who_agrees_with_the_fresh_ones_is_not_boosted() -> None:
    agreed = contribution(3, client=2, staleness=2)
    lonely = contribution(6, samples=3, client=1)
    assert aggregate("refl", [*FRESH, agreed], 100.0) == pytest.approx([103])
    mixed = [contribution(3), contribution(3, client=2, staleness=1, samples=6), lonely]
    # The fresh ones' mean is 21/4 by samples, from which the stale one is the farthest.
    share = 6 * (0.65 / 2 + 0.35 * (1 - np.exp(-1)))
    moved = (3 + 18 + 3 * share) / (1 + 3 + share)
    found = aggregate({"name": "refl", "weighting": "samples"}, mixed, 1.0)
    assert found == pytest.approx([1 + moved])
