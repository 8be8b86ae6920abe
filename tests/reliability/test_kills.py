"""Killed at random moments, once or twice: the folder is sound, and the run ends the same."""

from pathlib import Path

import pytest

from simfl.runs.folder.folder import is_run
from tests.reliability.kills import SCENARIOS, blows, go_on, killed, lasting
from tests.reliability.soak import cases
from tests.run_folders import broken, computed

KILLS = cases(short=6, full=400)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCENARIOS)[: min(KILLS, len(SCENARIOS))])
def test_a_killed_run_ends_the_same(tmp_path: Path, name: str) -> None:
    lasts_s = lasting(name, tmp_path / "whole")
    expected = computed(tmp_path / "whole")
    place = list(SCENARIOS).index(name)
    for number in range(place, KILLS, len(SCENARIOS)):
        folder = tmp_path / f"{number}"
        for blow in blows(number, lasts_s):
            if killed(name, folder, blow) and is_run(folder):
                assert broken(folder) == []
        assert go_on(name, folder) == 0
        assert computed(folder) == expected
        assert broken(folder) == []
