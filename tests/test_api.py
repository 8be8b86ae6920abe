"""The names that `import simfl` gives, used as a script or a notebook uses them."""

from pathlib import Path

import pytest

import simfl
from simfl.errors import InputError
from tests.tiny import TINY


def test_public_names_are_offered_for_completion() -> None:
    assert set(simfl.__all__) <= set(dir(simfl))


def test_plain_data_is_run_and_a_folder_named_by_text_is_resumed(tmp_path: Path) -> None:
    [result] = simfl.run({**TINY, "seed": 0}, tmp_path)
    again = simfl.resume(str(result.folder))
    assert again.summary == result.summary


def test_shares_are_taken_as_the_command_line_takes_them(tmp_path: Path) -> None:
    [result] = results = simfl.run(TINY, tmp_path)
    [first, second] = result.reached("1%"), result.reached(0.01)
    assert first is not None
    assert second is not None
    assert first.time_s == second.time_s
    assert simfl.compare(results, ["1%"]).targets == [0.01]
    with pytest.raises(InputError, match="did you mean '30%'"):
        simfl.compare(results, [30])


def test_numbers_of_processes_are_at_least_one() -> None:
    with pytest.raises(InputError, match="workers must be at least 1, but got 0"):
        simfl.Options(workers=0)
    with pytest.raises(InputError, match="jobs must be at least 1, but got -1"):
        simfl.Options(jobs=-1)
