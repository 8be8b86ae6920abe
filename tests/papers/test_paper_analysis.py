"""What the scripts of `analysis` compute for the papers' figures, against closed forms."""

import numpy as np
import pytest

from analysis.fedcor_trials import cosine, lines
from analysis.fedcore_times import shares
from analysis.standing_out import BYTES, SELECTORS, TIME, standing_out
from simfl.papers.measures import Record


def test_shares_of_durations_in_deadlines() -> None:
    """One of four is over, two are in the last tenth; what ends at the deadline is not over it."""
    assert shares("FedAvg", np.array([0.5, 0.95, 1.0, 2.0])) == [
        "FedAvg",
        "0.2500",
        "0.5000",
        "2.00",
    ]


def test_the_cosine_of_covariances_knows_no_scale() -> None:
    spread = np.diag([1.0, 2.0, 3.0])
    assert cosine(spread, 7 * spread) == pytest.approx(1)
    assert cosine(np.diag([1.0, 0.0]), np.diag([0.0, 1.0])) == 0


def test_loss_changes_along_one_normal_direction() -> None:
    rng = np.random.default_rng(0)
    direction = np.array([3.0, 0.0, 4.0])
    changes = rng.normal(size=(4000, 1)) * direction + 1e-3 * rng.normal(size=(4000, 3))
    told, second, third = lines("fedcor/item", 1, 20, changes, 5 * changes)
    assert told.share == pytest.approx(1, abs=1e-5)
    assert (abs(told.skewness), abs(told.excess_kurtosis)) < (0.2, 0.4)
    assert told.distance_from_normal < 1.63 / np.sqrt(4000)
    assert told.cosine_with_next == pytest.approx(1)
    assert told.cosine_of_halves == pytest.approx(1, abs=1e-5)
    assert (second.component, third.component) == (2, 3)
    assert second.cosine_of_halves is None
    skewed, *_ = lines("fedcor/item", 1, 20, rng.exponential(size=(4000, 1)) * direction, None)
    assert abs(skewed.skewness) > 1
    assert skewed.cosine_with_next is None


def cost(item: str, row: str, column: str, seed: int, value: float) -> Record:
    followed = 1e6
    return Record(
        "findings", item, row, column, str(seed), value, followed, "time", "ours", "", "", "", ""
    )


def test_what_stands_out_has_the_numbers_of_the_results() -> None:
    costs = {"uniform": 100.0, **dict.fromkeys(SELECTORS, 100.0), "Oort": 25.0}
    selectors = [
        cost("selectors", row, column, seed, value * (1 + 0.01 * (seed == len(row) % 3)))
        for row, value in costs.items()
        for column in (TIME, BYTES)
        for seed in range(3)
    ]
    nothing: list[Record] = []
    told = standing_out(
        {
            "findings/selectors": selectors,
            "findings/combined": nothing,
            "findings/asynchronous": nothing,
        }
    )
    assert "(3 seeds)" in told
    assert "uniform selection: Oort by 4.00×; these are not: FedCor, FedGP" in told
