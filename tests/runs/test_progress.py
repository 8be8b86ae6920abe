"""What is told of a run while it goes on."""

import threading
import time
from pathlib import Path

import pytest

from simfl import Options, Scenario
from simfl.errors import InputError
from simfl.runs import progress
from simfl.runs.job import Job
from simfl.runs.progress import Progress
from simfl.runs.run import run_one
from tests.tiny import TINY


def test_what_a_silent_run_waits_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.02)
    told: list[Progress] = []
    heard = threading.Event()

    def tell(report: Progress) -> None:
        told.append(report)
        if report.waits_for:
            heard.set()

    def hold(_time_s: float, kind: str, _facts: object) -> None:
        if kind == "dispatched" and not heard.is_set():
            assert heard.wait(30)

    began = time.perf_counter()
    run_one(Job("a", Scenario.from_dict(TINY), tmp_path / "a"), Options(), [hold], tell)
    waits = [report.waits_for for report in told if report.waits_for]
    assert waits[0].startswith("round 1 waits")
    assert (told[-1].ended, told[-1].round, told[-1].waits_for) == (True, 4, "")
    assert 0 < told[-1].host_s < time.perf_counter() - began
    assert all(not report.ended for report in told[:-1])


def test_of_a_run_that_can_not_begin_nothing_is_told(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(TINY, overrides=["data.dataset=mnist", "model.hidden=[4]"])
    told: list[Progress] = []
    with pytest.raises(InputError, match="MNIST"):
        run_one(Job("a", scenario, tmp_path / "a"), Options(data_dir=tmp_path), [], told.append)
    assert not told
