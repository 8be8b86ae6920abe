"""FedAT: the mixture of tiers by hand."""

from copy import deepcopy

import numpy as np
import pytest

from simfl.components.aggregators.base import Contribution, aggregators
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.errors import RunError


def sent(value: float, tier: int, samples: int = 1, client: int = 0) -> Contribution:
    params = np.array([value], dtype=np.float32)
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), params, 0.0, 1, samples)
    return Contribution(result, np.zeros_like(params), tier=tier)


def test_rare_tiers_weigh_as_much_as_common_ones_are_common() -> None:
    fedat = aggregators.parse({"name": "fedat", "tiers": 3})
    model = np.array([8.0], dtype=np.float32)
    # T = (1, 0, 0): the slowest tier has the weight of the fastest, and still the initial model.
    assert fedat.aggregate(model, [sent(2.0, 0)]).tolist() == [8.0]
    # T = (1, 0, 1): half for tier 0's 2, half for tier 2's 6.
    assert fedat.aggregate(model, [sent(6.0, 2)]).tolist() == [4.0]
    # T = (2, 0, 1): tier 0 (now 3) has the share of tier 2, 1/3; tier 2 that of tier 0, 2/3.
    assert fedat.aggregate(model, [sent(3.0, 0)]).tolist() == pytest.approx([3 / 3 + 2 * 6 / 3])
    # T = (2, 1, 1): the middle tier weighs by its own count.
    assert fedat.aggregate(model, [sent(1.0, 1)]).tolist() == [3 / 4 + 1 / 4 + 2 * 6 / 4]


def test_what_no_tier_has_changed_stays_to_the_last_bit() -> None:
    """Sums are float64: rounded singly, thirds of a number would not add up to it."""
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    for value in values:
        fedat = aggregators.parse({"name": "fedat", "tiers": 3})
        for tier in range(3):
            mixed = fedat.aggregate(np.array([value]), [sent(value, tier)])
            assert mixed[0] == value


def test_inside_a_tier_it_is_a_mean() -> None:
    two = [sent(1.0, 0, 100), sent(3.0, 0, 300, client=1)]
    start = np.zeros(1, dtype=np.float32)
    by_samples = aggregators.parse({"name": "fedat", "tiers": 1})
    assert by_samples.aggregate(start, two).tolist() == [2.5]
    alike = aggregators.parse({"name": "fedat", "tiers": 1, "weighting": "uniform"})
    assert alike.aggregate(start, two).tolist() == [2.0]


def test_its_state_can_be_saved() -> None:
    start = np.zeros(1, dtype=np.float32)
    first, second = (aggregators.parse({"name": "fedat", "tiers": 2}) for _ in range(2))
    first.aggregate(start, [sent(4.0, 1)])
    second.load_state_dict(deepcopy(first.state_dict()))
    assert second.aggregate(start, [sent(2.0, 0)]) == first.aggregate(start, [sent(2.0, 0)])


def test_a_tier_too_many_is_an_error_that_says_what_to_do() -> None:
    fedat = aggregators.parse({"name": "fedat", "tiers": 2})
    with pytest.raises(RunError, match="mixes 2 tiers, but an update came from number 3"):
        fedat.aggregate(np.zeros(1, dtype=np.float32), [sent(1.0, 2)])
