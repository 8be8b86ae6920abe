"""User code that raises or returns nonsense: told by name, round and time; and it can be mended."""

from pathlib import Path
from typing import Any

import pytest

from simfl import Scenario, load
from simfl.cli import main
from simfl.errors import ComponentError, RunError
from simfl.runs.run import resume, run
from tests.runs import faulty
from tests.tiny import TINY

MODULE = faulty.__name__
ENDED = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt")


def scenario(path: str, name: str, fault: str | None = None) -> Scenario:
    import json

    spec: dict[str, Any] = {"name": f"{MODULE}:{name}"} | ({"fault": fault} if fault else {})
    spec |= {"lr": 0.1} if name == "FaultyOptimizer" else {}
    return Scenario.from_dict(TINY, overrides=[f"{path}={json.dumps(spec)}"])


CASES = [
    ("selection", "FaultySelector", "raises", "round 2: KeyError: 'nothing' .*faulty.py:"),
    ("selection", "FaultySelector", "unknown", r"round 2: expected ids below 8, got \[99\]"),
    ("selection", "FaultySelector", "negative", r"round 2: expected ids below 8, got \[-1\]"),
    ("selection", "FaultySelector", "too many", r"round 2: expected up to 4 clients, got \["),
    ("selection", "FaultySelector", "fractions", "round 2: expected ids of clients"),
    ("selection", "FaultySelector", "none", "round 2: expected ids of clients.*, got None"),
    ("aggregation", "FaultyAggregator", "raises", "aggregating in round 1: ValueError"),
    ("aggregation", "FaultyAggregator", "nan", "finite numbers of type float32, got 386 that"),
    ("aggregation", "FaultyAggregator", "infinite", "float32, got 386 that are not finite"),
    ("aggregation", "FaultyAggregator", "shape", r"got an array of shape \(385,\)"),
    ("aggregation", "FaultyAggregator", "type", "got an array of float64"),
    ("aggregation", "FaultyAggregator", "list", "got list"),
    ("training.compression", "FaultyCompressor", "nan", "the update of client .*not finite"),
    ("training.compression", "FaultyCompressor", "infinite", "client .*not finite"),
    ("training.workload", "FaultyWorkload", "negative", "client . in round 1: expected whole"),
    ("training.workload", "FaultyWorkload", "nothing", "a step at least, or None to skip it"),
    ("training.workload", "FaultyWorkload", "gains", "expected extra units of zero or more"),
    ("training.optimizer", "FaultyOptimizer", "raises", "clients .* in round 1: KeyError: .*:"),
    ("training.optimizer", "FaultyOptimizer", "shape", "in round 1: RuntimeError: .*faulty.py:"),
    ("training.optimizer", "FaultyOptimizer", "fractions", "a whole number of `buffers`.*got 1.5"),
    ("training.optimizer", "FaultyOptimizer", "less than none", "zero or more, got -1"),
    ("training.loss", "FaultyLoss", "raises", "training clients .* in round 1: KeyError: .*py:"),
    ("training.loss", "FaultyLoss", "none", "training clients .* in round 1: TypeError"),
    ("training.loss", "FaultyLoss", "shape", "training clients .* in round 1: RuntimeError"),
    ("training.loss", "FaultyLoss", "constant", "training clients .* in round 1: RuntimeError"),
    ("training.loss", "FaultyLoss", "no judge", "judging the model: ZeroDivisionError.*faulty.py:"),
    (
        "training.loss",
        "FaultyLoss",
        "7 out of 1",
        "hits from 0 to 1, got an accuracy of 7",
    ),
    ("training.lr_schedule", "FaultySchedule", "raises", "rate of round 2: KeyError: .*faulty.py:"),
    ("training.lr_schedule", "FaultySchedule", "nan", "finite number of zero or more, got nan"),
    ("training.lr_schedule", "FaultySchedule", "negative", "of zero or more, got -1.0"),
    ("training.lr_schedule", "FaultySchedule", "text", "of zero or more, got '1.0'"),
    ("training.lr_schedule", "FaultySchedule", "none", "of zero or more, got None"),
    ("rounds.policy", "EndsEarly", None, "in round 1: expected rounds until .*an end before"),
    ("rounds.policy", "Raises", None, "in round 1: LookupError: nobody home .*faulty.py:"),
]


@pytest.mark.parametrize(("path", "name", "fault", "words"), CASES)
def test_the_fault_is_told_and_once_mended_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str, fault: str, words: str
) -> None:
    faulty_one = scenario(path, name, fault)
    with pytest.raises(ComponentError, match=rf"(?s)'{MODULE}:{name}'.*{words}") as told:
        run(faulty_one, tmp_path / "cut")
    folder = tmp_path / "cut/default/seed-0"
    assert f"of virtual time; once that is mended, `simfl resume {folder}`" in str(told.value)
    assert (load(folder).folder / "events.jsonl").exists()
    monkeypatch.setattr(faulty.Mended, "yes", True)
    [whole] = run(faulty_one, tmp_path / "whole")
    again = resume(folder)
    for file in ENDED:
        assert (again.folder / file).read_bytes() == (whole.folder / file).read_bytes()


def test_a_selector_that_chooses_nobody(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="in round 2 the selector chose nobody"):
        run(scenario("selection", "FaultySelector", "nobody"), tmp_path)


@pytest.mark.parametrize("fault", ["negative", "fraction"])
def test_an_impossible_size_is_told_before_anything_is_written(tmp_path: Path, fault: str) -> None:
    with pytest.raises(ComponentError, match=r"size of an update: expected a whole number of byte"):
        run(scenario("training.compression", "FaultyCompressor", fault), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_policy_that_is_no_generator(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="expected a generator of events, got NoneType"):
        run(scenario("rounds.policy", "NoGenerator"), tmp_path)


def test_the_command_line_does_not_call_it_internal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(scenario("selection", "FaultySelector", "raises").to_yaml())
    command = ["run", str(file), "--out", str(tmp_path / "o"), "-q", "--allow-code"]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        f"error: selector '{MODULE}:FaultySelector', choosing clients in round 2"
    )
    assert "internal" not in error
