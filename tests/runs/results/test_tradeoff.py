"""Two costs of variants against each other: whose medians no other's beat."""

import math
from pathlib import Path

import numpy as np
import pytest

from simfl.errors import InputError
from simfl.runs.results.result import RunResult
from simfl.runs.results.tradeoff import tradeoff
from tests.made_runs import made_run, reaches

TIME, BYTES = "time_s_to_70%", "bytes_to_70%"


def raced(top: Path, name: str, rounds: list[int], round_s: float) -> list[RunResult]:
    """Return runs of 9 rounds that reach 70% in `rounds`, a seed each (0: never)."""
    return [
        made_run(top, name, seed, reaches(first, 9), round_s=round_s)
        for seed, first in enumerate(rounds)
    ]


def test_the_front_is_of_medians_that_no_other_beats(tmp_path: Path) -> None:
    runs = [
        *raced(tmp_path, "quick rounds", [7, 8, 9], 1.0),
        *raced(tmp_path, "few rounds", [1, 2, 2], 20.0),
        *raced(tmp_path, "between", [4, 4, 6], 5.0),
        *raced(tmp_path, "as many, longer", [4, 4, 6], 6.0),
        *raced(tmp_path, "mostly never", [1, 0, 0], 0.1),
    ]
    told = tradeoff(runs, TIME, BYTES)
    assert told.front == ["quick rounds", "between", "few rounds"]  # from the left
    between = told.variants["between"]
    np.testing.assert_array_equal(between.points, [[20, 8000], [20, 8000], [30, 12000]])
    assert between.median is not None
    assert between.median.tolist() == [20, 8000]
    never = told.variants["mostly never"]
    assert never.median is None
    assert never.complete.tolist() == [True, False, False]


def test_those_that_are_equal_are_both_at_the_front(tmp_path: Path) -> None:
    runs = [*raced(tmp_path, "a", [3], 1.0), *raced(tmp_path, "b", [3], 1.0)]
    assert tradeoff(runs, TIME, BYTES).front == ["a", "b"]


def test_more_of_an_accuracy_is_better_and_less_of_a_loss(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path, "short", 0, [0.5]),
        made_run(tmp_path, "long", 0, [0.5, 0.6, 0.9]),
        made_run(tmp_path, "longer, no better", 0, [0.5, 0.6, 0.7, 0.8]),
        made_run(tmp_path, "without", 0, [math.nan]),
    ]
    for key, better in (("accuracy", "more"), ("loss", "less")):
        told = tradeoff(runs, "time_s", key)
        assert told.better == ("less", better)
        assert told.front == ["short", "long"]
        assert tradeoff(runs, key, "time_s").front == (
            ["short", "long"] if better == "more" else ["long", "short"]
        )


def test_a_seed_that_never_got_there_is_the_worst_in_the_median(tmp_path: Path) -> None:
    told = tradeoff(raced(tmp_path, "v", [1, 0, 3], 10.0), TIME, "accuracy")
    median = told.variants["v"].median
    assert median is not None
    assert median.tolist() == [30, 0.7]


@pytest.mark.parametrize(
    ("x", "told"),
    [
        ("time", "x: unknown column 'time'; did you mean 'time_s'?"),
        ("time_s_to_rmse 3", "x: no run was judged by 'rmse'"),
        (None, "x: expected a column of `simfl compare`, such as 'time_s_to_60%', got None"),
    ],
)
def test_what_is_no_column_is_told(tmp_path: Path, x: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        tradeoff([made_run(tmp_path, "v", 0, [0.5])], x, "bytes")
    assert told in str(error.value)
