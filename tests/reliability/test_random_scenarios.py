"""Whatever a valid scenario says, its run obeys the laws, and ends the same however it is run."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl import Options, Scenario
from simfl.errors import InputError, ScenarioError
from simfl.runs.forks import fork
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from simfl.runs.verify import verify
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
            if data.draw(st.booleans(), label="its length was written, its end was not"):
                os.truncate(cut / name, size)
        if data.draw(st.booleans(), label="lost the last checkpoint"):
            (cut / "checkpoint" / "state.pt").unlink(missing_ok=True)
        resume(cut, EAGER)
        assert ended(cut) == expected


@random_cases(short=4, full=300)
@given(scenarios(), scenarios(), st.floats(0, 0.999), st.booleans())
def test_a_fork_shares_its_past_and_obeys_the_laws(
    scenario: Scenario, other: Scenario, share: float, changes: bool
) -> None:
    """On the rules of another scenario, as far as they go with this one; or without a change."""
    with TemporaryDirectory() as top:
        whole = Path(top) / "runs" / "default" / "seed"
        run_one(Job("default", scenario, whole), EAGER)
        log = (whole / "events.jsonl").read_text().splitlines()
        at_s = share * json.loads(log[-1])["t"]
        rules = {part: other.to_dict()[part] for part in ("rounds", "selection", "aggregation")}
        rules["rounds"]["stop"] = scenario.to_dict()["rounds"]["stop"]
        rules["rounds"]["clients"] = scenario.rounds.clients
        texts = [f"{part}={json.dumps(rule)}" for part, rule in rules.items()] if changes else []
        try:
            there = fork(whole, at_s, texts)
            resume(there, EAGER)
        except ScenarioError:
            return  # they don't go together
        except InputError:  # nothing happened after, or it begins where the run does
            assert at_s >= json.loads(log[-1])["t"] or at_s == 0
            return
        past = [line for line in log if json.loads(line)["t"] <= at_s]
        assert (there / "events.jsonl").read_text().splitlines()[: len(past)] == past
        assert broken(there) == []
        assert verify(there) is None
        assert changes or ended(there) == ended(whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["processes", "ray"])
@random_cases(short=3, full=100)
@given(scenarios(), st.integers(1, 2))
def test_workers_give_the_same(name: str, scenario: Scenario, workers: int) -> None:
    if name == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    with TemporaryDirectory() as top:
        for executor, options in (("here", Options()), ("there", Options(name, workers=workers))):
            run_one(Job("default", scenario, Path(top) / executor), options)
        assert ended(Path(top) / "here") == ended(Path(top) / "there")
        assert broken(Path(top) / "there") == []
