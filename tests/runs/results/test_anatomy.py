"""Where virtual time went: phases add up exactly, critical paths are those one can see by hand."""

import csv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from simfl import run
from simfl.errors import InputError
from simfl.report.charts.anatomy import anatomy
from simfl.runs.options import Options
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.critical_path import NOBODY, PHASES
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from simfl.testing.scenarios import scenarios
from tests.made_runs import made_run
from tests.tiny import TINY


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=scenarios())
def test_phases_of_any_run_add_up_to_its_virtual_time(scenario: Scenario) -> None:
    with TemporaryDirectory() as folder:
        result = run(scenario, Path(folder), Options(executor="inline"))[0]
        anatomy = Anatomy.of(result)
        assert anatomy.elapsed_ns == round(result.end_s * 1e9)
        assert (anatomy.phases_ns >= 0).all()
        ends = np.cumsum(anatomy.phases_ns.sum(axis=1))[:-1]
        expected = np.rint(result.of_rounds("end_s") * 1e9).astype(np.int64)
        np.testing.assert_allclose(ends, expected, rtol=0, atol=1)
        arrived = result.of_rounds("arrived") > 0
        if scenario.rounds.policy.name == "synchronous" and not result.rounds.empty:
            assert ((anatomy.clients != NOBODY) == arrived).all()


def seconds(anatomy: Anatomy) -> list[dict[str, float]]:
    return [
        {name: ns / 1e9 for name, ns in zip(PHASES, row, strict=True) if ns}
        for row in anatomy.phases_ns.tolist()
    ]


def test_a_synchronous_round_is_its_last_client(tmp_path: Path) -> None:
    anatomy = Anatomy.of(made_run(tmp_path, "v", 0, [0.1, 0.2, 0.3]))
    # Download 2 s, compute 5 s, upload 3 s: see made_run.  Nothing comes after the last round.
    assert seconds(anatomy) == [{"download": 2, "compute": 5, "upload": 3}] * 3 + [{}]
    assert anatomy.clients.tolist() == [1, 0, 1]
    assert anatomy.critical() == [(1, 2), (0, 1)]


def edited(result: RunResult, table: str, **columns: Sequence[float | str]) -> RunResult:
    path = result.folder / f"{table}.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = str(value)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return RunResult(result.folder)


def test_waiting_before_and_after_is_told_apart(tmp_path: Path) -> None:
    result = made_run(tmp_path, "v", 0, [0.1, 0.2])
    result = edited(
        result,
        "clients",
        selected_s=[1, 14],
        download_end_s=[2, 14],
        compute_end_s=[5, 17],
        upload_end_s=[6, 18],
    )
    result = edited(result, "rounds", start_s=[0.5, 12])
    assert seconds(Anatomy.of(result)) == [
        {"idle": 1, "download": 1, "compute": 3, "upload": 1, "wait": 4},
        {"idle": 4, "compute": 3, "upload": 1, "wait": 2},
        {},
    ]


def test_an_update_that_comes_while_the_server_is_busy_counts_in_the_next_round(
    tmp_path: Path,
) -> None:
    """Round 1 waited for client 0; client 1 came before its end, but after its last update."""
    result = made_run(tmp_path, "v", 0, [0.1, 0.2])
    result = edited(
        result,
        "clients",
        selected_s=[0, 0],
        download_end_s=[1, 1],
        compute_end_s=[3, 5],
        upload_end_s=[4, 9],
        client=[0, 1],
    )
    result = edited(result, "rounds", last_arrival_s=[4, 9])
    anatomy = Anatomy.of(result)
    assert seconds(anatomy)[0] == {"download": 1, "compute": 2, "upload": 1, "wait": 6}
    assert anatomy.clients.tolist() == [0, NOBODY]
    assert result.last_counted.tolist() == [0, 1]


def test_what_comes_at_the_same_instant_and_counts_later_was_not_waited_for(tmp_path: Path) -> None:
    """Equal devices in two tiers: the server takes its time for each tier's updates."""
    rounds = {"clients": 4, "policy": {"name": "tiered", "tiers": 2, "server_time": "2 s"}}
    tiny = {**TINY, "fleet": {"count": 8, "compute": "10 samples/s"}, "aggregation": "fedbuff"}
    tiny["rounds"] = {**rounds, "stop": {"rounds": 4}}
    result = run(Scenario.from_dict(tiny), tmp_path, Options(time_only=True, jobs=1))[0]
    assert len(set(result.of_clients("upload_end_s")[:4])) == 1
    booked = np.repeat(np.arange(4), result.of_rounds("arrived").astype(int))
    counted = np.flatnonzero(result.used)
    assert [booked[counted == row].tolist() for row in result.last_counted] == [[0], [1], [2], [3]]


@pytest.mark.parametrize("policy", ["synchronous", {"name": "fedbuff", "buffer": 1}])
def test_who_is_sent_out_in_place_of_one_that_left_was_waited_for(
    policy: str | dict[str, Any], tmp_path: Path
) -> None:
    """The first works from 0 s and leaves at 10 s, and the second is sent out in its place."""
    (tmp_path / "t.csv").write_text("device,start_s,end_s\na,0,10\nb,0,1000\n")
    trace = {"name": "trace", "file": str(tmp_path / "t.csv"), "shift": False, "shuffle": False}
    fleet = {"count": 2, "compute": "12 samples/s", "availability": {**trace, "period": "1000 s"}}
    rounds = {"clients": 1, "policy": policy, "stop": {"rounds": 2}}
    tiny = {**TINY, "fleet": fleet, "rounds": rounds, "selection": "round_robin"}
    tiny["aggregation"] = "fedavg" if policy == "synchronous" else "fedbuff"
    result = run(Scenario.from_dict(tiny), tmp_path / "runs", Options(time_only=True, jobs=1))[0]
    phases_ns = dict(zip(PHASES, Anatomy.of(result).phases_ns.sum(axis=0).tolist(), strict=True))
    assert (phases_ns["idle"], phases_ns["wait"]) == (0, 10e9)


def test_the_path_goes_on_through_whose_end_let_a_client_be_sent_out(tmp_path: Path) -> None:
    result = made_run(tmp_path, "v", 0, [0.1, 0.2])
    result = edited(
        result,
        "clients",
        selected_s=[0, 4],  # client 0 is sent out when client 1 is back; only client 0 counts last
        download_end_s=[1, 5],
        compute_end_s=[3, 15],
        upload_end_s=[4, 20],
        client=[1, 0],
    )
    result = edited(
        result, "rounds", start_s=[0, 0], end_s=[2, 20], last_arrival_s=["", 20], arrived=[0, 2]
    )
    assert seconds(Anatomy.of(result)) == [
        {"wait": 2},  # nobody arrived by then
        {"download": 1, "compute": 11, "upload": 6},
        {},
    ]


def test_a_run_that_ends_within_a_round_counts_what_came_after_the_last(tmp_path: Path) -> None:
    result = made_run(tmp_path, "v", 0, [0.1])
    path = result.folder / "summary.json"
    path.write_text(path.read_text().replace('"virtual_time_s": 10.0', '"virtual_time_s": 12.5'))
    assert seconds(Anatomy.of(RunResult(result.folder)))[-1] == {"wait": 2.5}


def test_what_no_clock_of_nanoseconds_holds_is_told(tmp_path: Path) -> None:
    result = made_run(tmp_path, "v", 0, [0.1, 0.2], round_s=5e9)
    with pytest.raises(InputError, match="too much for nanoseconds"):
        Anatomy.of(result)
    assert anatomy({"v": [result]}) is None
