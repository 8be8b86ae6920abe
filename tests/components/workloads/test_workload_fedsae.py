"""FedSAE's workload prediction: Ira and Fassa by hand (docs/algorithms.md, A.9)."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from simfl.components.workloads.base import Assignment
from simfl.components.workloads.fedsae import FedSae, Outcome, Pair, fassa, ira
from simfl.core.seeds import generator
from simfl.core.work import Plan


def assignment(epochs: float, samples: int = 10, seed: int = 0, client: int = 0) -> Assignment:
    """A client whose deadline leaves time for so many epochs."""
    left = epochs * samples
    return Assignment(client, samples, 1, 10, None, lambda units: units <= left, seed)


@pytest.mark.parametrize(
    ("pair", "affordable", "trained", "after"),
    [
        ((1, 2), 5, 2, (7, 11)),
        ((1, 2), 1.5, 1, (1, 11)),
        ((1, 2), 0.5, None, (0.5, 1)),
        ((5, 8), 6, 5, (4, 7)),
    ],
)
def test_ira_moves_the_pair_by_its_rule(
    pair: tuple[float, float], affordable: float, trained: int | None, after: tuple[float, float]
) -> None:
    workload = FedSae(start=pair)
    plan = workload.plan(assignment(affordable))
    # Whoever fails tries the easy task in vain, and so misses the deadline.
    assert plan == Plan(full_epochs=int(pair[0]) if trained is None else trained)
    assert workload.pair(0) == pytest.approx(after)


@pytest.mark.parametrize(
    ("outcome", "threshold", "after"),
    [
        ("complete", 3, (5, 7)),
        ("complete", 5, (7, 7)),
        ("complete", 9, (7, 9)),
        ("half", 4, (3, 5)),
        ("half", 5, (3, 7)),
        ("fail", 9, (2, 3)),
    ],
)
def test_fassa_moves_the_pair_by_its_rule(
    outcome: Outcome, threshold: float, after: tuple[float, float]
) -> None:
    assert fassa(Pair(4, 6), outcome, threshold, fast=3, slow=1) == after


def test_ira_uses_the_old_values_on_both_sides() -> None:
    assert ira(Pair(2, 5), "complete", 10) == (7, 7)
    assert ira(Pair(2, 5), "half", 10) == (2.5, 7)


def test_fassa_learns_a_threshold_from_the_third_time_on() -> None:
    workload = FedSae(rule="fassa")
    pairs = []
    for _ in range(4):
        workload.plan(assignment(100))
        pairs.append(workload.pair(0))
    # (1,2) -> +1 -> (2,3) -> +1 -> (3,4); threshold 0.95 * 2 + 0.05 * 3 = 2.05 <= 3: slow;
    # then 0.95 * 2.05 + 0.05 * 4 = 2.1475 <= 4: slow again
    assert pairs == [(2, 3), (3, 4), (4, 5), (5, 6)]


@pytest.mark.parametrize("rule", ["ira", "fassa"])
def test_tasks_over_many_rounds_are_those_of_a_plain_reckoning(rule: str) -> None:
    """Ten samples in mini-batches of 4, 4 and 2; at times there is time for neither task."""
    workload, rng = FedSae.model_validate({"rule": rule}), np.random.default_rng(1)
    low, high, usual, times, seen = 1.0, 2.0, 0.0, 0, set()

    def task(epochs: float) -> tuple[int, float]:
        steps = int(3 * min(epochs, 15) + 1e-9)
        return steps, 10 * (steps // 3) + 4 * (steps % 3)

    for _ in range(80):
        left = 10 * float(rng.choice([0.6 * low, (low + high) / 2, high + 0.4, 20]))
        plan = workload.plan(Assignment(0, 10, 4, 10, None, left.__ge__, 0))
        behind = low < usual, high < usual
        steps_up = [3.0 if slow and times > 1 else 1.0 for slow in behind]
        if rule == "ira":
            steps_up = [10 / low, 10 / high]
        grown = low + steps_up[0], high + steps_up[1]
        outcome, asked, done, after = "complete", high, high, grown
        if task(high)[1] > left:
            outcome, asked, done, after = "half", low, low, (grown[0], high / 2)
            if task(low)[1] > left:
                outcome, done, after = "fail", 0.0, (low / 2, high / 2)
        assert (0 if plan is None else plan.n_steps(10, 4)) == task(asked)[0]
        whole = int(min(done, 15))
        usual, times = (0.95 * usual + 0.05 * whole if times else whole), times + 1
        low, high = sorted(after)
        assert workload.pair(0) == pytest.approx((low, high))
        seen.add((outcome, *behind))
    assert {outcome for outcome, *_ in seen} == {"complete", "half", "fail"}
    assert rule == "ira" or len({tuple(behind) for _, *behind in seen}) == 3


def test_work_is_capped_and_fractions_are_mini_batches() -> None:
    workload = FedSae()
    assert workload.task(assignment(9), 40) == Plan(full_epochs=15)
    assert workload.task(assignment(9), 2.55) == Plan(steps=25)
    assert workload.task(assignment(9), 0.05) is None
    assert workload.task(assignment(9), 3.01) == Plan(full_epochs=3)


@pytest.mark.parametrize(
    ("samples", "epochs", "plan"),
    [
        (10, 2.3, Plan(steps=23)),  # in floats .3 of a pass is 2.9999999999999996 of its ten
        (11, 11 + 10 / 11, Plan(steps=131)),  # Ira's, after a task of eleven
        (10, 2 - 1e-12, Plan(full_epochs=2)),
        (10, 0.29, Plan(steps=2)),
        (3, 0.3, None),
    ],
)
def test_fractions_of_a_pass_are_reckoned_as_people_do(
    samples: int, epochs: float, plan: Plan | None
) -> None:
    assert FedSae().task(assignment(9, samples=samples), epochs) == plan


def test_drawn_workloads_belong_to_clients() -> None:
    workload = FedSae(affordable="drawn")
    drawn = [workload.draw(assignment(0, seed=s, client=3)) for s in range(3000)]
    assert min(drawn) >= 0
    first = generator(0, 2**32)  # the seed with which the client was first met
    mean = first.uniform(5, 10)
    deviation = first.uniform(mean / 4, mean / 2)
    cut = stats.truncnorm(-mean / deviation, math.inf, mean, deviation)
    assert stats.kstest(drawn, cut.cdf).pvalue > 0.01
    plans = [workload.plan(assignment(math.inf, seed=s)) for s in range(200)]
    assert None in plans
    assert any(plan is not None and plan.units(10, 1) > 30 for plan in plans)
    again = FedSae(affordable="drawn")
    assert plans == [again.plan(assignment(math.inf, seed=s)) for s in range(200)]


def test_a_participation_that_was_skipped_is_drawn_anew() -> None:
    """Its seed stays the same until something is sent; the first draw is as ever."""
    workload = FedSae(affordable="drawn")
    first, second = (workload.draw(assignment(0, seed=7)) for _ in range(2))
    assert first != second
    assert workload.draw(assignment(0, seed=8)) != second
    other = FedSae(affordable="drawn")
    assert [other.draw(assignment(0, seed=7)) for _ in range(2)] == [first, second]


def test_a_client_that_always_fails_keeps_a_task() -> None:
    workload = FedSae()
    for _ in range(1200):
        workload.plan(assignment(-1))
    assert workload.pair(0).low > 0
    workload.plan(assignment(math.inf))
    assert workload.pair(0).high > 0


def test_a_task_of_nothing_is_complete_where_it_fits() -> None:
    """It failed for ever, halved each time, whatever there was time for."""
    workload = FedSae(start=(0.02, 0.04))
    assert workload.plan(assignment(100)) is None
    assert workload.pair(0) == pytest.approx((0.04 + 10 / 0.04, 0.02 + 10 / 0.02))
    assert workload.plan(assignment(100)) == Plan(full_epochs=15)
    late = FedSae(start=(0.02, 0.04))
    assert late.plan(assignment(-1)) is None
    assert late.pair(0) == (0.01, 0.02)


def test_a_drawn_number_is_compared_with_what_is_asked() -> None:
    """Tasks beyond the most epochs are asked for those, and nobody could afford them."""
    workload = FedSae(affordable="drawn", most=1e-9, start=(500, 1000))
    workload.plan(assignment(0))
    assert workload.pair(0).high > 1000


def test_epochs_that_no_number_holds_are_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1000000"):
        FedSae(most=1e308)
