"""Whatever a valid scenario says, its run obeys the laws, and ends the same however it is run."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from soak import EAGER, broken, ended, interrupted, random_cases

from simfl import Options, Scenario
from simfl.runs.run import Job, run_one
from simfl.testing.scenarios import scenarios


@random_cases(short=15, full=1000)
@given(scenarios(), st.data())
def test_a_run_obeys_the_laws_and_survives_interruptions(
    scenario: Scenario, data: st.DataObject
) -> None:
    with TemporaryDirectory() as top:
        whole = Path(top) / "whole"
        run_one(Job("default", scenario, whole), EAGER)
        assert broken(whole) == []
        expected = ended(whole)
        events = expected["events.jsonl"].count(b"\n")
        at = st.integers(0, events - 1)
        cuts = data.draw(st.lists(at, min_size=1, max_size=2), label="interrupted at events")
        again = interrupted(scenario, Path(top), cuts)
        assert ended(again) == expected
        assert broken(again) == []


@pytest.mark.slow
@random_cases(short=3, full=100)
@given(scenarios())
def test_two_workers_give_the_same(scenario: Scenario) -> None:
    with TemporaryDirectory() as top:
        for name, options in (("one", Options()), ("two", Options("processes", workers=2))):
            run_one(Job("default", scenario, Path(top) / name), options)
        assert ended(Path(top) / "one") == ended(Path(top) / "two")
