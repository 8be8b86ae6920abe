"""Whatever a valid scenario says, its run obeys the laws, and ends the same however it is run."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl import Options, Scenario
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from simfl.testing.scenarios import scenarios
from tests.reliability.soak import EAGER, GROWING, Cut, broken, ended, interrupted, random_cases


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


@random_cases(short=4, full=300)
@given(scenarios(), st.data())
def test_a_run_survives_a_power_failure(scenario: Scenario, data: st.DataObject) -> None:
    """What was not synced is lost: the end of each growing file, whatever the others have kept."""
    with TemporaryDirectory() as top:
        whole, cut = Path(top) / "whole", Path(top) / "cut"
        run_one(Job("default", scenario, whole), EAGER)
        expected = ended(whole)
        at = data.draw(st.integers(0, expected["events.jsonl"].count(b"\n") - 1), label="event")
        job = Job("default", scenario, Path(top) / "failing")
        run_one(job, EAGER, [Cut(job.folder, at, cut).listen])
        for name in GROWING:
            size = (cut / name).stat().st_size
            os.truncate(cut / name, data.draw(st.integers(0, size), label=f"bytes of {name}"))
        if data.draw(st.booleans(), label="lost the last checkpoint"):
            (cut / "checkpoint" / "state.pt").unlink(missing_ok=True)
        resume(cut, EAGER)
        assert ended(cut) == expected


@pytest.mark.slow
@random_cases(short=3, full=100)
@given(scenarios())
def test_two_workers_give_the_same(scenario: Scenario) -> None:
    with TemporaryDirectory() as top:
        for name, options in (("one", Options()), ("two", Options("processes", workers=2))):
            run_one(Job("default", scenario, Path(top) / name), options)
        assert ended(Path(top) / "one") == ended(Path(top) / "two")
