"""What would have shortened a run: its clock again, with one thing changed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.cli import main
from simfl.errors import InputError
from simfl.report.explanation import as_text
from simfl.runs.explain import Explanation, explain
from simfl.runs.options import Options
from simfl.runs.result import RunResult
from simfl.runs.run import run
from simfl.scenario import Scenario
from tests.tiny import TINY


def made(top: Path, **changes: Any) -> RunResult:
    return run(Scenario.from_dict({**TINY, **changes}), top, Options(time_only=True))[0]


def known(told: Explanation) -> dict[str, float]:
    return {c.change.name: c.time_s for c in told.what_if.cases if not c.why_not}


def why_not(told: Explanation) -> dict[str, str]:
    return {c.change.name: c.why_not for c in told.what_if.cases if c.why_not}


@pytest.mark.slow
def test_what_is_told_is_what_a_run_with_that_change_takes(tmp_path: Path) -> None:
    told = explain(made(tmp_path / "run"))
    assert set(known(told)) == {
        "a deadline that 30% of the fleet miss",
        "without the slowest of 120% asked",
        "compute twice as fast",
        "links twice as fast",
        "links without limits",
    }
    for one in told.what_if.cases:
        changed = Scenario.from_dict(TINY, overrides=one.change.sets)
        again = run(changed, tmp_path / one.change.name, Options(time_only=True))[0]
        assert again.end_s == one.time_s < told.end_s


def test_twice_the_speed_is_half_the_time_where_nothing_else_takes_any(tmp_path: Path) -> None:
    compute = {"distribution": "choice", "values": ["20 samples/s", "50 samples/s"]}
    told = explain(made(tmp_path, fleet={"count": 8, "compute": compute}))
    assert known(told)["compute twice as fast"] == pytest.approx(told.end_s / 2)
    assert "links without limits" not in known(told)  # they have none


@pytest.mark.slow
def test_outages_and_the_slowest_class_are_undone(tmp_path: Path) -> None:
    fleet = [
        {"name": "phones", "count": 4, "compute": "100 samples/s"},
        {
            "name": "boards",
            "count": 4,
            "compute": "10 samples/s",
            "availability": {"name": "on_off", "on": "8 s", "off": "5 s"},
            "on_offline": "pause",
        },
    ]
    told = explain(made(tmp_path, fleet=fleet))
    assert known(told)["boards as fast as phones"] < told.end_s
    assert known(told)["everybody always available"] < told.end_s


@pytest.mark.slow
def test_a_run_that_was_stopped_otherwise_is_compared_over_as_many_rounds(tmp_path: Path) -> None:
    stopped = made(tmp_path, rounds={"clients": 4, "stop": {"time": "25 s"}})
    told = explain(stopped)
    assert told.after_last_ns > 0
    assert told.elapsed_ns == round(stopped.end_s * 1e9)
    assert all(time_s < stopped.column("end_s")[-1] for time_s in known(told).values())


def test_what_would_change_a_selector_that_looks_at_losses_is_left_out(tmp_path: Path) -> None:
    chosen = run(Scenario.from_dict(TINY | {"selection": "power_of_choice"}), tmp_path)[0]
    told = explain(chosen)
    assert not known(told)
    assert all("power_of_choice" in why for why in why_not(told).values())
    assert told.phases_ns["poll"] > 0
    words = " ".join(as_text(told).split())
    assert "not computed: selection: selector 'power_of_choice' needs" in words
    assert words.count("power_of_choice") == 1
    assert "left out" not in words


def test_numbers_of_a_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "speeds.csv").write_text("speed\n40\n80\n")
    compute = {
        "distribution": "empirical", "file": "speeds.csv", "column": "speed", "unit": "samples/s"
    }  # fmt: skip
    scenario = Scenario.from_dict(
        TINY | {"fleet": {"count": 8, "compute": compute}}, folder=tmp_path
    )
    told = explain(run(scenario, tmp_path / "runs", Options(time_only=True))[0])
    assert why_not(told) == {"compute twice as fast": "its numbers come from a file"}
    assert "a deadline that 30% of the fleet miss" in known(told)


class TestCommand:
    def test_it_says_phases_whom_it_waited_for_and_what_would_help(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        result = made(tmp_path)
        assert main(["explain", str(result.folder)]) == 0
        text = capsys.readouterr().out
        assert f"in all  {result.end_s:>13.9f} s" in text
        assert "Most often waited for: device" in text
        assert max(len(line) for line in text.splitlines() if "--set" not in line) <= 100
        assert "compute twice as fast: --set 'fleet[0].compute=" in text
        assert main(["explain", str(result.folder), "--round", "2", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        ends = np.rint(result.column("end_s") * 1e9)
        assert sum(told["phases_ns"].values()) == told["elapsed_ns"] == ends[1] - ends[0]
        assert told["shortened_by"] == []

    def test_it_is_told_what_can_not_be_explained(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["explain", str(tmp_path)]) == 2
        assert "is not a run folder" in capsys.readouterr().err
        result = made(tmp_path)
        assert main(["explain", str(result.folder), "--round", "9"]) == 2
        assert "has no round 9; its rounds: 1 to 4" in capsys.readouterr().err
        assert main(["explain", str(result.folder), "--no-what-if"]) == 0
        assert "not computed: not asked for" in capsys.readouterr().out

    def test_a_strangers_code_is_not_run_unasked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        result = made(tmp_path)
        path = result.folder / "scenario.yaml"
        text = path.read_text()
        path.write_text(text.replace("name: uniform", "name: 'stranger:Evil'"))
        assert main(["explain", str(result.folder)]) == 0
        assert "--allow-code to allow it" in capsys.readouterr().out

    def test_rounds_that_are_not_there_are_refused_from_python_too(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="has no round 0"):
            explain(made(tmp_path), 0)
