"""Whatever a valid scenario says, its run obeys the laws, and ends the same however it is run."""

import json
import shutil
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl import Options, Scenario
from simfl.errors import InputError, ScenarioError
from simfl.runs.folder.folder import is_finished, is_run
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from simfl.runs.verify import verify
from simfl.testing.scenarios import scenarios
from tests.reliability.disks import Volatile
from tests.reliability.soak import EAGER, SOAKS, interrupted, random_cases
from tests.run_folders import broken, computed
from tests.tiny import TINY

FAILURES = 3
"""Power failures of each run."""
ELSEWHERE = [("processes", 1), ("processes", 2), *([("ray", 2)] if find_spec("ray") else [])]
"""Executors besides the usual one; Ray where it is installed."""


@pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours
@random_cases(short=15, full=1000)
@given(scenarios(), st.data())
def test_a_run_obeys_the_laws_and_ends_the_same_however_it_is_run(
    scenario: Scenario, data: st.DataObject
) -> None:
    """Interrupted, and in a soak on every executor too."""
    with TemporaryDirectory() as top:
        whole = Path(top) / "whole"
        run_one(Job("default", scenario, whole), EAGER)
        assert broken(whole) == []
        expected = computed(whole)
        events = expected["events.jsonl"].count(b"\n")
        at = st.integers(0, events - 1)
        cuts = data.draw(st.lists(at, min_size=1, max_size=2), label="interrupted at events")
        again = interrupted(scenario, Path(top), cuts)
        assert computed(again) == expected
        assert broken(again) == []
        for name, workers in ELSEWHERE if SOAKS else ():
            there = Path(top) / f"{name}-{workers}"
            run_one(Job("default", scenario, there), Options(name, workers=workers))
            assert computed(there) == expected


@random_cases(short=2, full=100)
@given(scenarios(), st.integers(0, 2**32))
def test_a_run_survives_power_failures(scenario: Scenario, seed: int) -> None:
    """Three failures of each run: before whatever it does to the disk, or at an event."""
    rng = np.random.default_rng(seed)
    with TemporaryDirectory() as top:
        folder, aside = Path(top) / "run", Path(top) / "aside"
        aside.mkdir()
        moments = count()

        def fails(_number: int) -> None:
            moment, chosen = next(moments), rng.integers(0, 1 << 62)
            if (place := moment if moment < FAILURES else int(chosen) % (moment + 1)) < FAILURES:
                shutil.rmtree(Path(top) / f"{place}", ignore_errors=True)
                disk.after_a_failure(Path(top) / f"{place}", rng)

        disk = Volatile(folder, aside, fails)
        job = Job("default", scenario, folder)
        with disk.installed():
            run_one(job, EAGER, [lambda *_: fails(0)])
        expected = computed(folder)
        for place in range(FAILURES):
            there = Path(top) / f"{place}"
            if is_run(there):
                resume(there, EAGER)
            else:
                run_one(Job("default", scenario, there), EAGER)
            assert computed(there) == expected


def test_a_finished_run_outlasts_a_power_failure(tmp_path: Path) -> None:
    """Who finds a summary finds all that it sums up."""
    folder, aside = tmp_path / "run", tmp_path / "aside"
    aside.mkdir()
    disk = Volatile(folder, aside, lambda _: None)
    with disk.installed():
        run_one(Job("default", Scenario.from_dict(TINY), folder), Options())
    folders = [tmp_path / f"{seed}" for seed in range(20)]
    for seed, left in enumerate(folders):
        disk.after_a_failure(left, np.random.default_rng(seed))
    finished = [left for left in folders if is_finished(left)]
    assert finished
    for left in finished:
        assert computed(left) == computed(folder)


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
        assert changes or computed(there) == computed(whole)


@pytest.mark.slow
@pytest.mark.skipif(SOAKS, reason="every random scenario is run on every executor")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("name", "workers"), ELSEWHERE)
@random_cases(short=3, full=3)
@given(scenarios())
def test_every_executor_gives_the_same(name: str, workers: int, scenario: Scenario) -> None:
    with TemporaryDirectory() as top:
        here, there = Path(top) / "here", Path(top) / "there"
        run_one(Job("default", scenario, here), Options())
        run_one(Job("default", scenario, there), Options(name, workers=workers))
        assert computed(there) == computed(here)
        assert broken(there) == []
