"""Numbers that no device can have are told of before a run begins, with their group."""

from typing import Any

import numpy as np
import pytest

from simfl.build.fleet import draw_fleet
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.scenario import Scenario


@pytest.mark.parametrize(
    ("number", "unit"), [("compute", "samples/s"), ("uplink", "bit/s"), ("latency", "s")]
)
def test_a_distribution_beyond_all_bounds_is_refused(number: str, unit: str) -> None:
    wild: dict[str, Any] = {"distribution": "lognormal", "median": f"5 {unit}", "sigma": 1e9}
    assert_refused({number: wild}, number)


def test_a_rate_at_which_nothing_ever_ends_is_refused() -> None:
    assert_refused({"compute": "1e-320 samples/s"}, "compute")


def test_unlimited_links_are_possible() -> None:
    assert np.isinf(fleet({"uplink": "unlimited"}).uplink_bps).all()


def assert_refused(group: dict[str, Any], number: str) -> None:
    with pytest.raises(InputError, match=f"'phones': a {number} of .* not possible"):
        fleet(group)


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
