"""Whole runs: determinism, executors, paired randomness, laziness, update filters, compression."""

import csv
import io
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import simfl
from simfl import Options, RunResult, Scenario, UpdateFilter, run
from simfl.components.filters.base import Stage, Update
from simfl.coordinators.ledger import Ledger
from simfl.core.work import WorkOrder, WorkResult
from simfl.errors import InputError, RunError, ScenarioError
from simfl.report.comparison.forms import render
from simfl.report.plot import plot
from simfl.runs.check import check
from simfl.runs.folder.growing_file import GrowingFile
from simfl.runs.forks.fork import fork
from simfl.runs.results.compare import compare
from simfl.runs.run import resume
from tests.tiny import TINY, RunTiny

FILES = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt")
DEADLINE = {"rounds.policy": {"name": "synchronous", "deadline": {"stragglers": "50%"}}}

TABLE = {"data": {"dataset": {"name": "synthetic", "clients": 8}}}


def contents(result: RunResult) -> dict[str, bytes]:
    return {name: (result.folder / name).read_bytes() for name in FILES}


def events(result: RunResult, kind: str) -> list[dict]:
    lines = (result.folder / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_two_runs_are_equal_byte_for_byte(run_tiny: RunTiny) -> None:
    assert contents(run_tiny(DEADLINE)) == contents(run_tiny(DEADLINE))


def test_another_seed_is_another_run(run_tiny: RunTiny) -> None:
    assert contents(run_tiny({"seed": 1})) != contents(run_tiny({"seed": 2}))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_workers_change_no_byte(run_tiny: RunTiny, workers: int) -> None:
    processes = Options(executor="processes", workers=workers)
    assert contents(run_tiny(DEADLINE)) == contents(run_tiny(DEADLINE, processes))


def test_changing_the_selector_leaves_everything_else_as_it_was(run_tiny: RunTiny) -> None:
    """Speeds, outages, data and the initial model are paired between policies."""
    flaky = {"fleet.availability": {"name": "on_off", "on": "60 s", "off": "20 s"}}
    one, other = run_tiny(flaky), run_tiny({**flaky, "selection": "round_robin"})
    from simfl.build.builder import Builder
    from simfl.scenario import Scenario
    from simfl.training.executors.base import executors

    built = [
        Builder(
            Scenario.load(result.folder / "scenario.yaml"), None, True, executors.parse("inline")
        )
        for result in (one, other)
    ]
    everyone = np.arange(8)
    for now in np.linspace(0, 3600, 50):
        here, there = (b.fleet.online(everyone, now) for b in built)
        assert np.array_equal(here, there)
    assert np.array_equal(built[0].fleet.rate, built[1].fleet.rate)
    labels = [b.federation.label_counts for b in built]
    assert labels[0] is not None
    assert labels[1] is not None
    assert np.array_equal(labels[0], labels[1])
    assert events(one, "selected")[0]["clients"] != events(other, "selected")[0]["clients"]


def test_dropped_work_is_never_computed(run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[tuple[int, int]] = []
    collect = Ledger.collect

    def spy(ledger: Ledger, orders: list[WorkOrder]) -> list[WorkResult]:
        results = collect(ledger, orders)
        computed.extend(result.order.key for result in results)
        return list(results)

    monkeypatch.setattr(Ledger, "collect", spy)
    result = run_tiny(DEADLINE)
    trainings = result.summary["trainings"]
    assert trainings["dropped"] > 0
    assert trainings["computed"] == trainings["issued"] - trainings["dropped"] == len(computed)
    assert len(computed) == (result.clients.outcome == "arrived").sum()


def test_real_training_learns(run_tiny: RunTiny) -> None:
    result = run_tiny({"rounds.stop.rounds": 15})
    assert result.summary["final_accuracy"] > 0.5  # ten classes


def test_model_file_is_a_state_dict_of_the_model(run_tiny: RunTiny) -> None:
    state = torch.load(run_tiny().folder / "model.pt", weights_only=True)
    assert [tuple(tensor.shape) for tensor in state.values()] == [(8, 36), (8,), (10, 8), (10,)]


def test_a_resolved_scenario_runs_to_the_same_bytes(run_tiny: RunTiny, tmp_path: Path) -> None:
    from simfl import Scenario, run

    result = run_tiny(DEADLINE)
    [again] = run(Scenario.load(result.folder / "scenario.yaml"), tmp_path / "again")
    assert contents(again) == contents(result)


def test_published_cmfl_uploads_a_status_instead_of_an_irrelevant_update(
    run_tiny: RunTiny,
) -> None:
    changes = {"training.filter": {"name": "cmfl", "threshold": 0.8}, "rounds.stop.rounds": 8}
    result = run_tiny(changes)
    rows = result.clients
    filtered = rows[rows.outcome == "filtered"]
    assert 0 < len(filtered) < len(rows)
    assert set(filtered.upload_bytes) == {4}
    assert (rows[rows["round"] == 1].outcome == "arrived").all()  # no reference yet
    assert result.summary["trainings"]["computed"] == len(rows)  # deciding needs the update
    assert (filtered.steps > 0).all()


def test_a_server_side_filter_saves_no_bytes(run_tiny: RunTiny) -> None:
    plain = run_tiny()
    changed = run_tiny({"training.filter": {"name": "cmfl", "variant": "current_mean"}})
    assert plain.summary["totals"]["upload_bytes"] == changed.summary["totals"]["upload_bytes"]


def test_what_the_server_filters_out_does_not_count(run_tiny: RunTiny) -> None:
    strict = {"name": "cmfl", "variant": "current_mean", "threshold": 1.0}
    result = run_tiny({"training.filter": strict})
    rows, rounds = result.clients, result.rounds
    filtered = rows[rows.outcome == "filtered"]
    assert (rounds.arrived == 1).all()  # where none agrees enough, the most agreeing one counts
    assert (rounds.filtered == rounds.selected - 1).all()
    assert rounds.wasted_bytes.sum() == (filtered.download_bytes + filtered.upload_bytes).sum()
    assert (rounds.last_arrival_s < rows.groupby("round").upload_end_s.max().to_numpy()).any()
    assert not any(finding.violation for finding in check(result.folder))


class Discards(UpdateFilter):
    """Lets nobody through who has arrived, from the second round on."""

    @property
    def stage(self) -> Stage:
        return "server"

    def keep(self, update: Update, reference: Update | None, round_: int) -> bool:
        return round_ < 2


@pytest.mark.parametrize("selection", ["oort", "divfl", "fedacs"])
def test_where_no_update_passes_the_model_stays(run_tiny: RunTiny, selection: str) -> None:
    changes = {"training.filter": f"{__name__}:Discards", "selection": selection}
    result = run_tiny({**changes, "evaluation.every": 1})
    accuracy = result.rounds.accuracy
    assert len(accuracy) > 2
    assert (accuracy[1:] == accuracy[0]).all()
    assert (result.rounds.filtered[1:] == result.rounds.selected[1:]).all()
    assert result.summary["trainings"]["computed"] == len(result.clients)


def test_a_filter_needs_training(run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match="time_only"):
        run_tiny({"training.filter": "cmfl"}, Options(time_only=True))


def test_compression_shrinks_bytes_and_changes_the_model(run_tiny: RunTiny) -> None:
    plain, half = run_tiny(), run_tiny({"training.compression": "float16"})
    assert 2 * half.summary["totals"]["upload_bytes"] == plain.summary["totals"]["upload_bytes"]
    assert half.summary["totals"]["download_bytes"] == plain.summary["totals"]["download_bytes"]
    assert contents(plain)["model.pt"] != contents(half)["model.pt"]
    assert half.summary["virtual_time_s"] < plain.summary["virtual_time_s"]


def test_a_run_whose_time_is_up_ends_then_though_nothing_happens(run_tiny: RunTiny) -> None:
    """Nobody is at work, for the quorum is never there."""
    stop = {"rounds.stop": {"rounds": 3, "time": "1 h"}, "rounds.min_clients": 8}
    result = run_tiny({**stop, "fleet.availability": {"name": "on_off", "on": "1 s", "off": "9 s"}})
    assert result.summary["finished"] == "time"
    assert result.n_rounds == 0
    assert result.end_s == result.summary["virtual_time_s"] == 3600.0
    assert not any(finding.violation for finding in check(result.folder))


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
    assert [contents(result) for result in again] == [contents(result) for result in whole]
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

    with pytest.raises(InputError, match="another process made meanwhile"):
        run(scenario, tmp_path, Options(time_only=True), listen=lambda job: [Meanwhile()])
    assert (later / "summary.json").exists()


def test_a_log_that_was_deleted_is_told(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "events.jsonl")
    file.append("{}")
    file.flush()
    file.path.unlink()
    with pytest.raises(RunError, match="was deleted while it was written"):
        file.close()


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


def test_diverged_updates_are_discarded_and_the_model_survives(run_tiny: RunTiny) -> None:
    result = run_tiny({"training.optimizer.lr": 1e30})
    assert (result.clients.outcome == "discarded").all()
    assert result.rounds.discarded.sum() == len(result.clients)
    state = torch.load(result.folder / "model.pt", weights_only=True)
    assert all(tensor.isfinite().all() for tensor in state.values())


def test_training_that_diverges_at_once_raises_no_warning(run_tiny: RunTiny) -> None:
    """Warnings are errors here; numpy's own stood on the terminal."""
    result = run_tiny({"training.optimizer.lr": 1e300})
    assert result.rounds.discarded.sum() == len(result.clients)


@pytest.mark.parametrize(
    "changes",
    [
        {"aggregation": {"name": "fedadam", "lr": 1e300}},
        {"aggregation": {"name": "fedavgm", "lr": 1e300}},
        {"training.lr_schedule": {"name": "exponential", "decay": 1e300}},
        {"training.lr_schedule": {"name": "step", "milestones": [1, 2], "factor": 1e300}},
    ],
)
def test_what_grows_beyond_all_numbers_is_told(run_tiny: RunTiny, changes: Any) -> None:
    """It was a warning of numpy's, or an internal error: an OverflowError."""
    with pytest.raises(RunError, match=r"'\w+', .* expected (a|386) finite number.* got (inf|386)"):
        run_tiny(changes)


def test_an_instant_that_no_clock_tells_ends_a_run(run_tiny: RunTiny) -> None:
    """It was an internal error of the report's."""
    with pytest.raises(RunError, match=r"the clock is at 6e\+31 s \(computed\), and beyond 4e"):
        run_tiny({"fleet.compute": "1e-30 samples/s"})


def test_a_run_leaves_no_data_behind(tmp_path: Path) -> None:
    """Many seeds of a large data set must fit where one does."""
    import gc

    from simfl.training.data import Partitioned

    def held() -> int:
        # By `type`: `isinstance` would ask objects of other libraries, which warn.
        every = gc.get_objects()
        return sum(type(item) is Partitioned and len(item.x) > 0 for item in every)

    gc.collect()
    before = held()
    run(Scenario.from_dict({**TINY, "seeds": "0-2"}), tmp_path)
    assert held() == before


def test_what_is_wrong_is_found_before_a_former_run_is_replaced(tmp_path: Path) -> None:
    """Here a file that only the network reads."""
    [former] = run(Scenario.from_dict(TINY), tmp_path)
    kept = contents(former)
    changed = ["network.server_uplink=1 Mbit/s", "network.rates.file=missing.csv"]
    scenario = Scenario.from_dict(TINY, overrides=changed)
    for out in (tmp_path, tmp_path / "new"):
        with pytest.raises(InputError, match=r"can't read .*missing\.csv"):
            run(scenario, out, overwrite=True)
    assert contents(former) == kept
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "logistic_regression", "selection": "k_dpp"}, "'k_dpp' needs profiles"),
        ({"model": "fedcore_lstm", **TABLE}, "'fedcore_lstm' takes tokens"),
        (
            {
                "model": "logistic_regression",
                "data.dataset": "generated",
                "selection": {"name": "oracle", "goal": "balanced"},
            },
            "'oracle' needs everybody's label counts",
        ),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_written(
    run_tiny: RunTiny, tmp_path: Path, changes: dict, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        run_tiny(changes)
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("policy", ["fedasync", "fedbuff", "tiered"])
def test_a_run_that_may_wait_forever_for_updates_needs_another_end(policy: str) -> None:
    changes = ["training.filter=cmfl", f"rounds.policy={policy}"]
    with pytest.raises(InputError, match="to name a time: filter 'cmfl' may keep every"):
        Scenario.from_dict(TINY, overrides=changes)
    Scenario.from_dict(TINY, overrides=[*changes, "rounds.stop.time=1 h"])
    Scenario.from_dict(TINY, overrides=changes[:1])


def test_a_run_says_which_commit_made_it(run_tiny: RunTiny) -> None:
    root = Path(simfl.__file__).parents[1]
    if not (root / ".git").exists():
        pytest.skip("simfl is not run from a checkout")
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True)
    assert commit.startswith(run_tiny().provenance["commit"].removesuffix("-dirty"))


def test_a_run_ends_once_so_much_energy_is_spent(run_tiny: RunTiny) -> None:
    """30 samples twice at 30 samples/s and 3 W are 6 J; four clients a round."""
    fleet = {"count": 8, "compute": "30 samples/s", "power": {"compute": "3 W"}}
    changes = {"fleet": fleet, "rounds": {"clients": 4, "stop": {"energy": "60 J", "rounds": 9}}}
    result = run_tiny(changes)
    assert result.summary["finished"] == "energy"
    assert result.rounds.energy_j.tolist() == [24.0, 24.0, 24.0]
    assert not [finding for finding in check(result.folder) if finding.violation]
    with pytest.raises(InputError, match=r"rounds\.stop\.energy: 30.* was reached before"):
        fork(result.folder, 5.0, ["rounds.stop.energy=30 J"])
    with pytest.raises(InputError, match=r"rounds\.stop\.energy: no group .* `power`"):
        run_tiny({"rounds": changes["rounds"]})


def test_energy_is_not_known_where_no_group_says_what_power_it_takes(run_tiny: RunTiny) -> None:
    """It was 0 J, as if no device had used any."""
    result = run_tiny({"evaluation.targets": [0.05]})
    assert result.summary["targets"]["0.05"]["energy_j"] is None
    totals = result.summary["totals"]
    assert (totals["energy_j"], totals["idle_energy_j"]) == (None, None)
    for table in ("rounds.csv", "clients.csv"):
        text = (result.folder / table).read_text()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["energy_j"] for row in rows} == {""}
    assert result.rounds.idle_energy_j.isna().all()
    assert math.isnan(result.total_energy_j)
    assert "energy" not in render(compare([result]), "csv")
    assert not [finding for finding in check(result.folder) if finding.violation]
    with pytest.raises(InputError, match="none of the runs has any energy"):
        plot([result], y="energy")


def test_tables_older_than_the_word_for_power_stay_as_they_are(run_tiny: RunTiny) -> None:
    """What is replayed must equal what is recorded, and had 0 J."""
    result = run_tiny()
    path = result.folder / "provenance.json"
    provenance = json.loads(path.read_text())
    del provenance["powered"]
    path.write_text(json.dumps(provenance))
    for name in ("rounds.csv", "clients.csv", "events.jsonl", "summary.json"):
        (result.folder / name).unlink()
    again = resume(result.folder)
    assert again.rounds.energy_j.tolist() == [0.0] * 4
    assert math.isnan(again.total_energy_j)


def test_energy_alone_does_not_end_a_run_whose_work_takes_none() -> None:
    """Equal devices never wait for each other: it went on for ever."""
    nothing = dict.fromkeys(("download", "compute", "upload"), "0 W")
    fleet = {**TINY["fleet"], "power": {"idle": "1 W", **nothing}}
    ends = {"energy": "1 kJ"}
    with pytest.raises(ScenarioError, match=r"rounds\.stop: needs more than energy"):
        Scenario.from_dict({**TINY, "fleet": fleet, "rounds": {"clients": 4, "stop": ends}})
    both = {"clients": 4, "stop": {**ends, "rounds": 3}}
    assert Scenario.from_dict({**TINY, "fleet": fleet, "rounds": both}).rounds.stop.rounds == 3
