"""Interrupted at any event, any number of times, a run ends as if it never was."""

from pathlib import Path
from typing import Any

import pytest

from tests.runs.interruptions import random_scenario, resumed
from tests.tiny import TINY

SMALLER: dict[str, Any] = {
    **TINY,
    "fleet": {**TINY["fleet"], "count": 5},
    "data": {"dataset": {"name": "synthetic_images", "samples": 60, "test_samples": 20, "size": 4}},
    "training": {"epochs": 1, "batch_size": 8},
}


@pytest.mark.parametrize("number", [7, 9, 10])
def test_some_interruptions_of_a_random_scenario(tmp_path: Path, number: int) -> None:
    scenario = random_scenario(number, SMALLER, rounds=2)
    ends = list(resumed(scenario, tmp_path, lambda state: state % 4 == 0))
    assert len(ends) >= 3
    assert all(found == expected for expected, found in ends)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(30))
def test_every_interruption_of_a_random_scenario(tmp_path: Path, number: int) -> None:
    scenario = random_scenario(number, SMALLER, rounds=3)
    ends = list(resumed(scenario, tmp_path))
    assert len(ends) >= 20
    assert all(found == expected for expected, found in ends)
