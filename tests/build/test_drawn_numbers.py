"""Numbers that no device can have are told of before a run begins, with their place."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run
from simfl.build.fleet import draw_fleet
from simfl.core.seeds import Seeds
from simfl.errors import InputError, ScenarioError
from simfl.runs.options import Options
from simfl.scenario import Scenario


@pytest.mark.parametrize(
    ("number", "unit"), [("compute", "samples/s"), ("uplink", "bit/s"), ("latency", "s")]
)
def test_a_distribution_beyond_all_bounds_is_refused(number: str, unit: str) -> None:
    wild: dict[str, Any] = {"distribution": "lognormal", "median": f"5 {unit}", "sigma": 1e9}
    assert_refused({number: wild}, number)


def test_a_rate_at_which_nothing_ever_ends_is_refused() -> None:
    slow = {"distribution": "lognormal", "median": "1e-9 samples/s", "sigma": 1e4}
    assert_refused({"compute": {**slow, "max": "1 samples/s"}}, "compute")


def test_unlimited_links_are_possible() -> None:
    assert np.isinf(fleet({"uplink": "unlimited"}).uplink_bps).all()


def test_speed_may_be_given_as_the_time_that_a_sample_takes() -> None:
    """Asynchronous methods are judged by delays that are half-normal or exponential."""
    assert (fleet({"compute": "20 ms/sample"}).rate == 50).all()
    times = {"distribution": "uniform", "min": "10 ms/sample", "max": "20 ms/sample"}
    rates = {"distribution": "uniform", "min": "1 samples/s", "max": "2 samples/s"}
    fast = fleet({"compute": rates}).rate - 1  # who is fast takes little time
    assert 1 / fleet({"compute": times}).rate == pytest.approx(0.02 - 0.01 * fast)


def assert_refused(group: dict[str, Any], number: str) -> None:
    with pytest.raises(InputError, match=rf"fleet\[0\]\.{number}: .* was drawn, .* not possible"):
        fleet(group)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("uplink: {distribution: lognormal, median: 1 Mbit/s, sigma: 800}", "uplink: 0 bit/s was"),
        (
            "uplink: {distribution: data_size, mean: 1 Mbit/s, std: 9 Mbit/s}",
            "uplink: a data_size distribution gives -",
        ),
        (
            "battery: {capacity: {distribution: lognormal, median: 1 J, sigma: 800}}",
            "battery.capacity: inf J was drawn",
        ),
    ],
)
def test_a_file_says_where(tmp_path: Path, number: str, message: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {dataset: synthetic}\nmodel: logistic_regression\nfleet:\n  - count: 30\n"
        f"    {number}\n"
    )
    with pytest.raises(ScenarioError, match=rf"s\.yaml:5:\d+: fleet\[0\]\.{message}"):
        run(Scenario.load(file), tmp_path / "o", Options(time_only=True))


def test_a_group_is_not_refused_for_what_devices_of_another_would_get() -> None:
    """The mean and the deviation are those of the whole fleet, the numbers only the group's."""
    by_size = {"distribution": "data_size", "mean": "1 samples/s", "std": "4 samples/s"}
    scenario = Scenario.from_dict(
        {
            "data": {"dataset": "synthetic"},
            "model": "logistic_regression",
            "fleet": [
                {"name": "big", "count": 1, "compute": by_size},
                {"name": "small", "count": 9, "compute": "5 samples/s"},
            ],
        }
    )
    samples = np.array([500] + [10] * 9)
    drawn = draw_fleet(scenario, Seeds(0), samples, samples, None)
    assert drawn.rate.tolist() == pytest.approx([1 + 4 * 3] + [5] * 9)


def fleet(group: dict[str, Any]) -> Any:
    scenario = Scenario.from_dict(
        {
            "data": {"dataset": "synthetic"},
            "model": "logistic_regression",
            "fleet": {"name": "phones", "count": 20, **group},
        }
    )
    samples = np.ones(20, dtype=np.int64)
    return draw_fleet(scenario, Seeds(0), samples, samples, None)
