"""The names that `import simfl` gives, used as a script or a notebook uses them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simfl
from simfl.errors import InputError
from simfl.scenario.reference.kinds import KINDS
from tests.tiny import TINY


def test_public_names_are_offered_for_completion() -> None:
    assert set(simfl.__all__) <= set(dir(simfl))


@pytest.mark.parametrize("home", [place.partition(":")[0] for place in KINDS.values()])
def test_the_base_class_of_each_kind_is_offered(home: str) -> None:
    """Of 19 kinds there were 13; `from simfl import Attack` was an error."""
    assert home in {getattr(simfl, name).__module__ for name in simfl.__all__}


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
    for accuracy in (math.nan, math.inf, -0.1):
        with pytest.raises(InputError, match=rf"share.*{accuracy}"):
            result.reached(accuracy)
        with pytest.raises(InputError, match=rf"share.*{accuracy}"):
            simfl.compare(results, [accuracy])


@pytest.mark.parametrize("number", [0, -1, 1.5, math.nan, math.inf])
@pytest.mark.parametrize("name", ["workers", "jobs"])
def test_numbers_of_processes_are_whole_and_at_least_one(name: str, number: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be a whole number from 1 on, .* {number}"):
        simfl.Options(**{name: number})
    sound: Any = np.int64(2)
    simfl.Options(**{name: sound})


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_checkpoints_are_some_time_apart(seconds: float) -> None:
    with pytest.raises(InputError, match=f"checkpoint_every_s must be at least 0 s, .* {seconds}"):
        simfl.Options(checkpoint_every_s=seconds)
