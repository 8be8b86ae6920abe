"""What the scripts of `analysis` compute for the papers' figures, against closed forms."""

from pathlib import Path

import numpy as np
import pytest

from analysis.fedacs_rewards import blocks
from analysis.fedcor_toy import Toy, choices
from analysis.fedcor_trials import cosine, lines
from analysis.fedcore_epochs import Line, summary
from analysis.fedcore_local import Local
from analysis.fedcore_times import shares
from analysis.standing_out import BYTES, SELECTORS, TIME, standing_out
from simfl.papers.measures import Record

ANALYSIS = Path(__file__).parents[2] / "analysis"


@pytest.mark.parametrize("file", sorted(ANALYSIS.glob("*.py")), ids=lambda file: file.stem)
def test_scripts_say_how_they_are_called_in_a_fresh_clone(file: Path) -> None:
    """As a module, from the repository's root: a script finds neither `analysis` nor its clone."""
    text = file.read_text()
    assert "python analysis/" not in text
    assert ('if __name__ == "__main__"' in text) == (
        f"\n    python -m analysis.{file.stem} " in text
    )


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


def test_stragglers_have_the_budgets_of_the_published_times() -> None:
    """docs/algorithms.md, F.4, at 30% of stragglers."""
    coreset, partial = Local("a1", "FedCore", 0), Local("a1", "FedProx", 0)
    assert coreset.stragglers == [0, 2, 3, 4, 11, 16, 24, 28, 29]
    plans = [coreset.plan(client) for client in coreset.stragglers]
    assert all(plan is not None and plan.full_epochs == 1 for plan in plans)
    sizes = [plan.coreset_size for plan in plans if plan is not None]
    assert sizes == [360, 378, 325, 355, 371, 370, 322, 369, 370]
    epochs = [plan.full_epochs for c in partial.stragglers if (plan := partial.plan(c)) is not None]
    assert epochs == [2, 9, 1, 2, 4, 4, 1, 4, 4]


def test_losses_after_every_local_epoch_are_those_of_one_training() -> None:
    local = Local("a1", "FedCore", 0)
    reached = local.epochs(local.initial, 2, 0)
    steps = [steps for steps, _ in reached]
    assert len(steps) == 11
    assert np.diff(steps)[1:].tolist() == [-(-378 // 8)] * 9
    assert (
        local.loss(reached[-1][1], 2) < local.loss(reached[1][1], 2) < local.loss(reached[0][1], 2)
    )
    again = Local("a1", "FedAvg", 0).epochs(local.initial, 2, 0)
    assert np.array_equal(again[1][1], reached[1][1])  # the first epoch is the same


def test_a_coreset_of_medoids_has_nearly_the_gradient_of_all() -> None:
    local = Local("a1", "FedCore", 0)
    error = local.gradient_error(local.initial, 2, 0)
    assert error is not None
    assert 0 < error < 0.2
    assert Local("a1", "FedAvg", 0).gradient_error(local.initial, 2, 0) is None


def test_what_stragglers_did_is_told_by_set_and_round() -> None:
    def done(method: str, last: float) -> Line:
        return Line("a1", 10, 2, method, 80, 40, 2, 15, 0.1, [2.0, 1.5, last])

    methods = {"FedAvg": 1.0, "FedCore": 1.2, "random": 1.1, "FedProx": 1.5, "partial": 1.3}
    told, gradients = summary([done(method, last) for method, last in methods.items()])
    assert told.startswith("a1, round 10: FedAvg 100.0% by 15 steps, FedCore 80.0% by 15 steps")
    assert told.endswith(
        "FedCore ends below FedProx on 1, partial on 1, random on 0 of 1 stragglers"
    )
    assert gradients.endswith("by less in 0 of 1")
    assert done("FedProx", 1.5).after(9) == 1.5
    assert done("FedProx", 1.5).cells(3)[-2:] == ["1.50000", ""]


def test_rewards_are_compared_in_blocks_of_rounds() -> None:
    bandit, uniform = np.repeat([-1.0, -3.0], 10), np.repeat([-2.0, -2.0, -9.0], 10)
    assert list(blocks(bandit, uniform)) == [
        "rounds 1 to 10: FedACS -1.00, baseline -2.00, FedACS higher in 10 of 10",
        "rounds 11 to 20: FedACS -3.00, baseline -2.00, FedACS higher in 0 of 10",
        "rounds 1 to 20: FedACS -2.00, baseline -2.00, FedACS higher in 10 of 20",
    ]


def test_of_two_twins_and_their_opposite_the_toy_s_best_pair_is_of_both() -> None:
    """Two clients of one class, twins, and one of the other: the pair of twins helps it least."""
    x = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
    toy = Toy(x, np.array([1.0, 1.0, -1.0]), np.array([-1.0, 0.0, 0.0]))
    told = choices(toy, np.random.default_rng(0))
    assert told["FedCor"].both
    assert told["FedCor"].change < 0
    assert all(choice.share <= 1 for choice in told.values())


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
