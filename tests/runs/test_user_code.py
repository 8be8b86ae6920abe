"""User code that raises or returns nonsense: told by name, round and time; and it can be mended."""

import re
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, load, run
from simfl.cli import main
from simfl.errors import ComponentError, InputError
from simfl.runs import progress
from simfl.runs.folder.folder import is_run
from simfl.runs.job import Job
from simfl.runs.progress import Progress
from simfl.runs.run import resume, run_one
from simfl.sim.server import selection
from tests.run_folders import COMPUTED, broken, computed
from tests.runs import faulty
from tests.tiny import TINY

MODULE = faulty.__name__


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
    ("selection", "FaultySelector", "nobody", "choosing clients in round 2: it chose nobody"),
    ("selection", "FaultySelector", "fractions", "round 2: expected ids of clients"),
    ("selection", "FaultySelector", "none", "round 2: expected ids of clients.*, got None"),
    ("selection", "FaultySelector", "rewrites", "ValueError: .*read-only .*faulty.py:"),
    ("selection", "FaultySelector", "rewrites ids", "ValueError: .*read-only .*faulty.py:"),
    ("selection", "FaultySelector", "asks in numbers", "round 1: expected a Probe or None, got 3"),
    ("aggregation", "FaultyAggregator", "raises", "aggregating in round 1: ValueError"),
    ("aggregation", "FaultyAggregator", "nan", "finite numbers of type float32, got 386 that"),
    ("aggregation", "FaultyAggregator", "infinite", "float32, got 386 that are not finite"),
    ("aggregation", "FaultyAggregator", "shape", r"got an array of shape \(385,\)"),
    ("aggregation", "FaultyAggregator", "type", "got an array of float64"),
    ("aggregation", "FaultyAggregator", "list", "got list"),
    ("aggregation", "FaultyCorrector", "short", r"correcting gradients: .* of shape \(3,\)"),
    ("aggregation", "FaultyCorrector", "nan", "correcting gradients: .*386 that are not finite"),
    ("aggregation", "FaultyCorrector", "some", "expected a correction for everybody, or nobody"),
    ("rounds.policy", "NeverOpens", None, "expected an open round to aggregate for"),
    (
        "aggregation",
        "FaultyAggregator",
        "in place",
        "ValueError: .*read-only .*faulty.py:",
    ),
    (
        "aggregation",
        "FaultyAggregator",
        "in bases",
        "ValueError: .*read-only .*faulty.py:",
    ),
    ("selection", "FaultyAsking", None, "clients in round 1: expected one of .*, got accuracy"),
    ("selection", "FaultyShowing", None, "showing its state: expected arrays by name, got list"),
    ("training.filter", "FaultyFilter", "mask", "distinct places from 0 to 3 in asc.*, got bool"),
    ("training.filter", "FaultyFilter", "twice", "round 1: expected distinct places from 0 to 3"),
    ("training.filter", "FaultyFilter", "turned", "from 0 to 3 in ascending order, got .3 2 1 0."),
    ("training.filter", "FaultyFilter", "unknown", r"round 1: expected distinct .*, got .99."),
    ("fleet.availability", "FaultyAvailability", "raises", "online at 0 s: KeyError: .*faulty.py:"),
    ("fleet.availability", "FaultyAvailability", "numbers", "expected . times yes or no, got "),
    ("fleet.availability", "FaultyAvailability", "backwards", "instant after 0 s, got 0.0"),
    ("fleet.availability", "FaultyAvailability", "stays", "offline, got 5 s, .* still online"),
    ("fleet.availability", "FaultyAvailability", "nothing", "instant after 0 s, got None"),
    ("network", "FaultyNetwork", "raises", "device . moves .* B: KeyError: .*faulty.py:"),
    ("network", "FaultyNetwork", "negative", "None, or seconds from 0 on, got -1.0"),
    ("network", "FaultyNetwork", "nan", "None, or seconds from 0 on, got nan"),
    ("network", "FaultyNetwork", "text", "device . moves .* B: TypeError"),
    (
        "training.optimizer",
        "FaultyOptimizer",
        "elsewhere",
        "`update` returned something",
    ),
    ("training.compression", "FaultyCompressor", "nan", "the update of client .*not finite"),
    ("training.compression", "FaultyCompressor", "infinite", "client .*not finite"),
    ("training.compression", "FaultyCompressor", "in place", "ValueError: .*read-only .*faulty"),
    ("training.workload", "FaultyWorkload", "negative", "client . in round 1: expected whole"),
    ("training.workload", "FaultyWorkload", "number", "round 1: expected a Plan, or None, got 5"),
    ("training.filter", "FaultyKeeper", None, "of client .: expected True or False, got None"),
    ("training.workload", "FaultyWorkload", "nothing", "a step at least, or None to skip it"),
    ("training.workload", "FaultyWorkload", "gains", "expected extra units of zero or more"),
    ("training.optimizer", "FaultyOptimizer", "raises", "clients .* in round 1: KeyError: .*:"),
    ("training.optimizer", "FaultyOptimizer", "shape", "in round 1: RuntimeError: .*faulty.py:"),
    ("training.optimizer", "FaultyOptimizer", "fractions", "a whole number of `buffers`.*got 1.5"),
    ("training.optimizer", "FaultyOptimizer", "less than none", "zero or more, got -1"),
    ("training.optimizer", "FaultyOptimizer", "nan", "clients .* in round 1: expected finite par"),
    ("training.optimizer", "FaultyOptimizer", "infinite", "in round 1: expected finite parameters"),
    ("training.optimizer", "FaultyOptimizer", "exits", "in round 1: SystemExit: 0 .*faulty.py:"),
    ("training.loss", "FaultyLoss", "nan", "training clients .* in round 1: expected finite"),
    ("model", "FaultyModel", "nan", "training clients .* in round 1: expected finite parameters"),
    ("aggregation", "FaultyAggregator", "exits", "aggregating in round 1: SystemExit: 0"),
    ("selection", "FaultySelector", "exits", "clients in round 2: SystemExit: 0 .*faulty.py:"),
    ("training.loss", "FaultyLoss", "raises", "training clients .* in round 1: KeyError: .*py:"),
    ("training.loss", "FaultyLoss", "none", "clients .* in round 1: expected a tensor .*NoneType"),
    (
        "training.loss",
        "FaultyLoss",
        "shape",
        "in round 1: expected a tensor of shape .*, got one of",
    ),
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
    ("rounds.policy", "YieldsSeconds", None, "in round 1: expected events to wait for, got 3.0"),
    ("rounds.policy", "Raises", None, "in round 1: LookupError: nobody home .*faulty.py:"),
    ("rounds.policy", "HelperRaises", None, "in round 1: LookupError: no help .*faulty.py:"),
]


def test_who_never_has_enough_answers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was printed, for ever."""
    monkeypatch.setattr(selection, "MOST", 20)
    words = rf"'{MODULE}:AsksForEver' asked 20 questions in one selection, in round 1; `probe`"
    with pytest.raises(ComponentError, match=words):
        run(scenario("selection", "AsksForEver"), tmp_path)


@pytest.mark.parametrize(("path", "name", "fault", "words"), CASES)
def test_the_fault_is_told_and_once_mended_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str, fault: str, words: str
) -> None:
    faulty_one = scenario(path, name, fault)
    with pytest.raises(ComponentError, match=rf"(?s)'{MODULE}:{name}'.*{words}") as told:
        run(faulty_one, tmp_path / "cut")
    folder = tmp_path / "cut/default/seed-0"
    way = f"`simfl resume {folder} --allow-code`"  # without which mended code was refused
    assert f"of virtual time; once that is mended, {way}" in str(told.value)
    assert (load(folder).folder / "events.jsonl").exists()
    assert re.search(rf"in round \d: .*'{MODULE}:{name}'.*{words}", load(folder).failure, re.DOTALL)
    monkeypatch.setattr(faulty.Mended, "yes", True)
    [whole] = run(faulty_one, tmp_path / "whole")
    again = resume(folder)
    assert "failed" not in again.provenance
    for file in COMPUTED:
        assert (again.folder / file).read_bytes() == (whole.folder / file).read_bytes()


@pytest.mark.parametrize("fault", ["negative", "fraction"])
def test_an_impossible_size_is_told_before_anything_is_written(tmp_path: Path, fault: str) -> None:
    with pytest.raises(ComponentError, match=r"size of an update: expected a whole number of byte"):
        run(scenario("training.compression", "FaultyCompressor", fault), tmp_path)
    assert not list(tmp_path.iterdir())


PROPERTIES = {
    "wants": "before anything is trained",
    "needs_updates": "while a round ends, in a process of SimPy's",
}


@pytest.mark.parametrize("wrong", PROPERTIES)
def test_a_property_that_raises_is_told_with_its_line(
    tmp_path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody asks a property for anything in particular: these were internal errors."""
    module = tmp_path / f"raises_{wrong}.py"
    module.write_text(
        "from simfl import Selector\nclass Mine(Selector):\n"
        "    def select(self, view, reports, k, rng): return view.available[:k]\n"
        f"    @property\n    def {wrong}(self):\n        raise KeyError('nothing')\n"
    )
    (tmp_path / "s.yaml").write_text(Scenario.from_dict(TINY).to_yaml())
    command = ["run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "r"), "--allow-code"]
    assert main([*command, "--quiet", "--set", f"selection={module}:Mine"]) == 1
    told = capsys.readouterr().err
    assert told == f"error: selector '{module}:Mine': KeyError: 'nothing' ({module}:6)\n"


@pytest.mark.parametrize(("path", "name"), [("model", "Model"), ("data.dataset", "Data")])
def test_what_exits_before_anything_is_written_is_told(
    tmp_path: Path, path: str, name: str
) -> None:
    with pytest.raises(InputError, match=rf"'{MODULE}:Faulty{name}'.*SystemExit: 0 .*faulty.py"):
        run(scenario(path, f"Faulty{name}", "exits"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_takes_other_arguments_is_told_before_anything_is_written(tmp_path: Path) -> None:
    """`prepare` was called unguarded: an internal error."""
    module = tmp_path / "old_prepare.py"
    module.write_text(
        "from simfl.components.aggregators.fedavg import FedAvg\nclass Mine(FedAvg):\n"
        "    def prepare(self, local, clients): pass\n"
    )
    mine = Scenario.from_dict(TINY, overrides=[f"aggregation={module}:Mine"])
    told = rf"'{module}:Mine', learning of the run: TypeError: .*prepare\(\) takes 3 positional"
    with pytest.raises(InputError, match=told):
        run(mine, tmp_path / "out")
    assert not (tmp_path / "out").exists()


BEFORE = [
    ("fleet.availability", "Availability", "schedule", "a schedule with online, .* got NoneType"),
    ("network", "Network", "bind", "links of the fleet, got None"),
    ("model", "Model", "build", "a torch.nn.Module, got None"),
    ("data.dataset", "Dataset", "load", "a Corpus, got NoneType"),
    ("data.dataset", "Dataset", "shape", "the shape of an input and the number of .*, got None"),
    ("data.partition", "Partition", "deal", "an array of rows for each client, got None"),
]


@pytest.mark.parametrize(("path", "kind", "forgets", "words"), BEFORE)
def test_what_returns_nothing_before_anything_is_written_is_told(
    tmp_path: Path, path: str, kind: str, forgets: str, words: str
) -> None:
    module = tmp_path / f"forgets_{kind}_{forgets}.py"
    body = "".join(
        f"    def {method}(self, *args, **more):\n        {text}\n"
        for method, text in {
            "shape": "return (36,), 10",
            "load": "return SyntheticImages(samples=240, size=6).load(*args)",
            forgets: "pass",
        }.items()
    )
    imports = "from simfl.components.datasets.synthetic_images import SyntheticImages\n"
    module.write_text(f"{imports}from simfl import {kind}\nclass Mine({kind}):\n{body}")
    mine = Scenario.from_dict(TINY, overrides=[f"{path}={module}:Mine"])
    with pytest.raises(InputError, match=rf"'{module}:Mine', .*: expected {words}"):
        run(mine, tmp_path / "out")
    assert not is_run(tmp_path / "out/default/seed-0")


ENDLESS = [
    ("selection", "FaultySelector", "selector '{}', choosing clients in round 2"),
    ("aggregation", "FaultyAggregator", "aggregator '{}', aggregating in round 1"),
    ("training.optimizer", "FaultyOptimizer", "optimizer '{}', training clients ["),
    ("rounds.policy", "Endless", "round policy '{}', in round 1"),
    ("rounds.policy", "EndlessHelper", "round policy '{}', in round 1"),
    ("data.dataset", "FaultyData", "dataset '{}', being loaded"),
    ("model", "FaultyModel", "model '{}', being tried"),
]


@pytest.mark.parametrize(("path", "name", "words"), ENDLESS)
def test_code_that_never_ends_is_told_and_what_was_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str, words: str
) -> None:
    """Who watches is told whose it is; a Ctrl-C leaves a run that ends the same once mended."""
    monkeypatch.setattr(progress, "SILENCE_S", 0.02)
    told, words = threading.Event(), words.format(f"{MODULE}:{name}")

    def tell(report: Progress) -> None:
        if report.waits_for.startswith(words) and not told.is_set():
            told.set()
            signal.raise_signal(signal.SIGINT)

    endless = scenario(path, name, None if path == "rounds.policy" else "forever")
    job = Job("default", endless, tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        run_one(job, Options(), tell=tell)
    assert told.is_set()
    monkeypatch.setattr(faulty.Mended, "yes", True)
    whole = run_one(replace(job, folder=tmp_path / "whole"), Options())
    if is_run(job.folder):
        assert broken(job.folder) == []
        assert computed(resume(job.folder).folder) == computed(whole.folder)
    else:
        assert path in ("data.dataset", "model")


@pytest.mark.parametrize("selection", ["uniform", "clustered", "divfl", "k_dpp", "fedcor", "oort"])
@pytest.mark.parametrize("compression", ["none", "{name: quantize, bits: 4, error_feedback: true}"])
def test_a_learning_rate_that_is_too_large_is_recorded_not_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], selection: str, compression: str
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(Scenario.from_dict(TINY).to_yaml())
    changes = ["training.optimizer.lr=1e38", f"selection={selection}"]
    changes += [f"training.compression={compression}"]
    words = [word for change in changes for word in ("--set", change)]
    assert main(["run", str(file), "--out", str(tmp_path / "o"), *words, "--no-report"]) == 0
    assert "default: training diverged, " in capsys.readouterr().out
    [row, *_] = load(tmp_path / "o/default/seed-0").rounds.to_dict("records")
    assert row["discarded"] > 0
    assert broken(tmp_path / "o/default/seed-0") == []


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


def test_an_executor_that_loses_a_result(tmp_path: Path) -> None:
    options = Options(f"{MODULE}:FaultyExecutor")
    with pytest.raises(ComponentError, match="training in round 1: expected the orders' results"):
        run(Scenario.from_dict(TINY), tmp_path, options)
