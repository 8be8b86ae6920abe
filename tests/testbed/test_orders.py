"""In which order updates arrive: simulated, measured, measured several times."""

import json
import math
from typing import Any

import pytest

from testbed.errors import errors
from testbed.orders import NOISE_S, first_swap, kept, repeated
from testbed.wire import NOTHING
from tests.testbed.made import made


@pytest.mark.parametrize(("apart_s", "agrees"), [(NOISE_S / 2, 1), (2 * NOISE_S, 0)])
def test_arrivals_are_in_order_unless_nearly_tied(apart_s: float, agrees: int) -> None:
    simulated, real = made(last_s=2.9 + apart_s), made(last_s=2.9 - apart_s)
    assert errors(real, simulated, NOTHING, [0]).orders == agrees


def test_what_was_measured_nearly_at_once_is_a_tie_too() -> None:
    simulated, real = made(last_s=3.5), made(last_s=2.9 - NOISE_S / 2)
    assert errors(real, simulated, NOTHING, [0]).orders == 1


def test_where_the_order_first_differs_is_told_with_how_far_apart_they_were() -> None:
    simulated, real = made(last_s=2.94), made(last_s=2.88)
    swap = first_swap(real, simulated)
    assert swap == pytest.approx({"after": 0, "measured_s": 0.02, "simulated_s": 0.04})
    assert first_swap(real, real) == first_swap(real, made(last_s=2.9)) == {}


def test_who_is_late_in_one_alone_is_another_outcome() -> None:
    assert errors(made(outcome="late"), made(), NOTHING, [0]).outcomes == 0


def test_real_runs_are_held_against_each_other_and_the_simulation_against_them() -> None:
    first, slower, late = (
        json.loads(json.dumps(kept(run)))
        for run in (made(last_s=3.1), made(last_s=4.1), made(last_s=2.7, outcome="late"))
    )
    assert repeated([first], first) is None
    assert repeated([first, {**slower, "ends_s": [1.0, 2.0]}], first) is None
    same = {"mean_round": 0, "orders": 1, "outcomes": 1}
    found = {"runs": 2, **same, "furthest": 0, "simulated": same, "within": 1, "settled": 1}
    assert repeated([first, first], first) == found
    again = repeated([first, slower, late], first)
    assert again is not None
    apart = [1 / 4.1, 0.2 / 2.9, 1.2 / 2.9]  # of the later run's round
    assert again["runs"] == 3
    assert again["mean_round"] == pytest.approx(sum(apart) / 3)
    assert again["furthest"] == pytest.approx(apart[2])
    assert (again["orders"], again["outcomes"]) == pytest.approx((1 / 3, 1 / 3))
    assert again["simulated"]["mean_round"] == pytest.approx((apart[0] + apart[1]) / 3)
    assert again["simulated"]["orders"] == pytest.approx(2 / 3)
    assert again["within"] == 1


@pytest.mark.parametrize(("last_s", "within"), [(3.5, 1), (3.1 - 2 * NOISE_S, 0)])
def test_a_simulated_round_is_in_the_range_of_the_real_ones(last_s: float, within: int) -> None:
    again = repeated([kept(made(last_s=3.1)), kept(made(last_s=4.1))], kept(made(last_s=last_s)))
    assert again is not None
    assert again["within"] == within


@pytest.mark.parametrize(
    ("simulated", "agrees"),
    [
        ([1.0, 2.0, 3.0], True),
        ([1.0, 3.0, 2.0], True),  # the real runs have the last two both ways
        ([2.0, 1.0, 3.0], False),  # none of them has the second before the first
        ([1.0, 1.0 - NOISE_S / 2, 3.0], True),  # a tie
        ([1.0, 2.0, None], False),  # all of them have the third
        ([1.0, 2.0, 3.0, 4.0], False),  # none of them has a fourth
    ],
)
def test_what_all_real_runs_agree_on_is_held_against_the_simulation(
    simulated: list[float | None], agrees: bool
) -> None:
    def run(*ends_s: float | None) -> dict[str, Any]:
        ends = enumerate(ends_s)
        rows = [[i, 0, 0, "late" if s is None else "arrived", s or math.nan] for i, s in ends]
        return {"ends_s": [5.0], "updates": rows}

    again = repeated([run(1.0, 2.0, 3.0), run(1.0, 3.0, 2.5)], run(*simulated))
    assert again is not None
    assert again["settled"] == agrees
