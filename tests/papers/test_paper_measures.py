"""Measures of an item's runs: read as they say, and back from their file."""

from pathlib import Path

import pytest

from simfl.papers.claims import median
from simfl.papers.measures import Measure, read, records, write
from simfl.runs.results.find import find_runs
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run, reaches


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResult]:
    for seed, round_ in enumerate((4, 8, 0)):
        made_run(tmp_path / "runs", "a", seed, reaches(round_, 10))
    return find_runs([tmp_path / "runs"])


def measured(runs: list[RunResult], text: str) -> list[tuple[str, float | None, float | None]]:
    return [(r.seed, r.value, r.followed) for r in records("paper/item", "code", [text], runs)]


def test_measures_are_told_seed_by_seed_with_what_they_are_out_of(runs: list[RunResult]) -> None:
    assert measured(runs, "rounds to 70%") == [("0", 4, 10), ("1", 8, 10), ("2", None, 10)]
    assert measured(runs, "time_s to 70%")[0] == ("0", 40, 100)
    assert measured(runs, "bytes to 70%")[1] == ("1", 16_000, 20_000)
    assert measured(runs, "accuracy") == [("0", 0.7, None), ("1", 0.7, None), ("2", 0.35, None)]
    assert measured(runs, "loss")[2][1] == pytest.approx(0.65)


def test_the_mean_curve_is_read_not_the_mean_of_readings(runs: list[RunResult]) -> None:
    """Means: 0.35, from round 4 0.4667, from round 8 0.5833."""
    assert measured(runs, "rounds to 50% of the mean curve") == [("0 1 2", 8, 10)]
    assert measured(runs, "rounds to 40% of the mean curve") == [("0 1 2", 4, 10)]
    assert measured(runs, "rounds to 70% of the mean curve") == [("0 1 2", None, 10)]


def test_a_smoothed_curve_is_read_in_the_middle_of_three_points(runs: list[RunResult]) -> None:
    """Means of three: rounds 7, 8 and 9 are at 0.5056, 0.5444 and 0.5833, the last is 9."""
    assert measured(runs, "rounds to 50% of the smoothed mean curve") == [("0 1 2", 7, 9)]
    assert measured(runs, "rounds to 55% of the smoothed mean curve") == [("0 1 2", 9, 9)]


def test_a_curve_of_two_points_has_no_middle_of_three(tmp_path: Path) -> None:
    """It was an error; and points of one place were averaged, whatever rounds they were of."""
    made = [
        made_run(tmp_path, "v", seed, curve) for seed, curve in enumerate(([0.6] * 2, [0.8] * 4))
    ]
    assert measured(made, "rounds to 50% of the smoothed mean curve") == [("0 1", None, 2)]
    assert measured(made, "rounds to 70% of the mean curve") == [("0 1", 1, 2)]


@pytest.mark.parametrize("text", ["charm", "gemd to 50%", "rounds to half", "rounds by 50%"])
def test_what_is_no_measure(text: str) -> None:
    with pytest.raises(ValueError, match="unknown measure"):
        Measure.parse(text)


def test_records_come_back_from_their_file(runs: list[RunResult], tmp_path: Path) -> None:
    found = records("paper/item", "code", ["rounds to 70%", "accuracy"], runs)
    assert (found[2].row, found[2].seed, found[2].value, found[2].unit) == ("a", "2", None, "count")
    write(tmp_path / "results.csv", found)
    assert read(tmp_path / "results.csv") == found
    assert median(found[:3], "a") == 8
