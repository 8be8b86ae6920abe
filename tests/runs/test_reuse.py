"""Runs that are there already: kept and told of, gone on with, or replaced."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simfl import Options, Scenario, run
from simfl.errors import InputError
from simfl.runs.results.anatomy import Anatomy
from tests.run_folders import computed
from tests.tiny import TINY


def test_an_interrupted_scenario_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Finished variants are kept, the interrupted one is resumed, the rest is run."""
    variants = {"a": {}, "b": {"training.epochs": 1}, "c": {"selection": "round_robin"}}
    scenario = Scenario.from_dict({**TINY, "variants": variants})
    whole = run(scenario, tmp_path / "whole")

    class Stopped(Exception):
        pass

    def stop(_time_s: float, kind: str, facts: dict) -> None:
        if kind == "round" and facts["round"] == 3:
            raise Stopped

    with pytest.raises(Stopped):
        run(scenario, tmp_path / "cut", listen=lambda job: [stop] if job.variant == "b" else [])
    first = (tmp_path / "cut" / "a" / "seed-0" / "model.pt").stat().st_mtime_ns
    again = run(scenario, tmp_path / "cut", go_on=True)
    assert [computed(result.folder) for result in again] == [
        computed(result.folder) for result in whole
    ]
    assert (tmp_path / "cut" / "a" / "seed-0" / "model.pt").stat().st_mtime_ns == first


def test_a_time_only_run_does_not_replace_a_trained_one(tmp_path: Path) -> None:
    run(Scenario.from_dict(TINY), tmp_path)
    words = r"(?s)time_only: false there, true now.*overwrite=True"
    with pytest.raises(InputError, match=words):
        run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))


def test_a_run_that_another_process_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    scenario = Scenario.from_dict({**TINY, "seeds": [0, 1]})
    later = tmp_path / "default" / "seed-1"

    class Meanwhile:
        def __call__(self, time_s: float, kind: str, facts: dict[str, object]) -> None:
            if not later.exists():
                run(Scenario.from_dict({**TINY, "seed": 1}), tmp_path, Options(time_only=True))

    with pytest.raises(InputError, match="made meanwhile; the same again with go_on=True keeps"):
        run(scenario, tmp_path, Options(time_only=True), listen=lambda job: [Meanwhile()])
    assert (later / "summary.json").exists()


def test_a_finished_run_is_reused_and_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [first] = run(Scenario.from_dict(TINY), tmp_path)
    began = first.provenance["started"], (first.folder / "model.pt").stat().st_mtime_ns
    [again] = run(Scenario.from_dict(TINY), tmp_path)
    assert (again.provenance["started"], (again.folder / "model.pt").stat().st_mtime_ns) == began
    assert "the results are reused; overwrite=True computes them again" in caplog.text
    [anew] = run(Scenario.from_dict(TINY), tmp_path, overwrite=True)
    assert (anew.folder / "model.pt").stat().st_mtime_ns != began[1]


def test_what_another_kind_of_device_computed_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [first] = run(Scenario.from_dict(TINY), tmp_path)
    with pytest.raises(InputError, match="unknown device 'gpu'; expected cpu, cuda or auto"):
        run(Scenario.from_dict(TINY), tmp_path, Options(device="gpu"))
    file = first.folder / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "device": "cuda:0"}))
    run(Scenario.from_dict(TINY), tmp_path)
    assert "already, finished, computed on cuda:0: the results are reused" in caplog.text


def test_what_has_less_of_a_log_than_is_asked_for_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`explain` advised another log, and the run that had none was reused without a word of it."""
    scenario, time_only = Scenario.from_dict(TINY), Options(time_only=True)
    [first] = run(scenario, tmp_path, replace(time_only, log="none"))
    with pytest.raises(InputError, match="run it again with overwrite=True and log='rounds' or"):
        Anatomy.of(first)
    run(scenario, tmp_path, replace(time_only, log="none"))
    assert "recorded" not in caplog.text
    run(scenario, tmp_path, time_only)
    assert "finished, recorded with log none: the results are reused" in caplog.text


def test_a_run_older_than_an_option_is_reused_while_that_is_at_its_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [first] = run(Scenario.from_dict(TINY), tmp_path)
    file = first.folder / "scenario.yaml"
    before = [line for line in file.read_text().splitlines(keepends=True) if "metrics:" not in line]
    file.write_text("".join(before))
    run(Scenario.from_dict(TINY), tmp_path)
    assert "the results are reused" in caplog.text
    assert file.read_text() == "".join(before)
    with pytest.raises(
        InputError, match=r"evaluation\.metrics\[0\]\.name: nothing there, .*macro_f1"
    ):
        run(Scenario.from_dict({**TINY, "evaluation": {"metrics": ["macro_f1"]}}), tmp_path)


def test_what_differs_from_the_results_there_is_told(tmp_path: Path) -> None:
    run(Scenario.from_dict(TINY), tmp_path)
    changed = ["rounds.clients=3", "fleet.uplink=2 Mbit/s", "rounds.stop.time=1 h"]
    with pytest.raises(InputError) as told:
        run(Scenario.from_dict(TINY, overrides=changed), tmp_path)
    assert str(told.value).splitlines()[1:-1] == [
        '  fleet[0].uplink: "1 Mbit/s" there, "2 Mbit/s" now',
        "  rounds.clients: 4 there, 3 now",
        '  rounds.stop.time: nothing there, "1 h" now',
    ]


def test_a_run_that_ended_at_once_is_not_to_be_forked(tmp_path: Path) -> None:
    """A fork begins after 0 s, and was advised where the first model was good enough."""
    initial = {**TINY, "evaluation": {"initial": True}}
    for accuracy, advised in ((0.01, False), (0.2, True)):
        ended = [f"rounds.stop.accuracy={accuracy}"]
        run(Scenario.from_dict(initial, overrides=ended), tmp_path / str(accuracy))
        with pytest.raises(InputError, match="give overwrite=True") as told:
            run(Scenario.from_dict(initial), tmp_path / str(accuracy))
        assert ("simfl fork" in str(told.value)) == advised


def test_a_scenario_that_is_no_text_any_more_is_told_or_replaced(tmp_path: Path) -> None:
    """It ended with a UnicodeDecodeError."""
    scenario = Scenario.from_dict(TINY)
    [former] = run(scenario, tmp_path)
    kept = computed(former.folder)
    (former.folder / "scenario.yaml").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"scenario\.yaml can't be read"):
        run(scenario, tmp_path)
    run(scenario, tmp_path, overwrite=True, go_on=True)
    assert computed(former.folder) == kept


def test_what_is_wrong_is_found_before_a_former_run_is_replaced(tmp_path: Path) -> None:
    """Here a file that only the network reads."""
    [former] = run(Scenario.from_dict(TINY), tmp_path)
    kept = computed(former.folder)
    changed = ["network.server_uplink=1 Mbit/s", "network.rates.file=missing.csv"]
    scenario = Scenario.from_dict(TINY, overrides=changed)
    for out in (tmp_path, tmp_path / "new"):
        with pytest.raises(InputError, match=r"can't read .*missing\.csv"):
            run(scenario, out, overwrite=True)
    assert computed(former.folder) == kept
    assert not (tmp_path / "new").exists()
