"""Runs with edge servers, beside runs without them that have to come to the same."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simfl import Options, RunResult, Scenario, run
from simfl.components.aggregators.fedavg import FedAvg
from simfl.components.selectors.base import Answers, View
from simfl.components.selectors.uniform import Uniform
from simfl.core.types import Ids, Rng
from simfl.errors import InputError
from simfl.report.charts.costs import bytes_of
from simfl.runs.check import check
from tests.run_folders import events
from tests.runs.doctored import first, in_table, later
from tests.tiny import TINY

FLAKY: dict[str, Any] = {
    **TINY,
    "fleet": {
        **TINY["fleet"],
        "availability": {"name": "on_off", "on": "3 s", "off": "1 s"},
        "power": {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"},
    },
    "evaluation": {"initial": True},
}
ONE = {"name": "hierarchical", "edges": 1, "edge_rounds": 1}
OF_EDGES = ("backhaul", "edge_aggregated")
OF_BACKHAUL = ["download_bytes", "upload_bytes", "deadline_s"]


def model_of(result: RunResult) -> np.ndarray[Any, Any]:
    parts = torch.load(result.folder / "model.pt", weights_only=True).values()
    return np.concatenate([part.numpy().ravel() for part in parts])


def both(folder: Path, scenario: dict[str, Any], policy: dict[str, Any], **plain: Any) -> Any:
    """Run a scenario with edges and without."""
    rounds = scenario["rounds"]
    policies = {"edges": policy, "plain": {"name": "synchronous", **plain}}
    return [
        run({**scenario, "rounds": {**rounds, "policy": chosen}}, folder / name, Options())[0]
        for name, chosen in policies.items()
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"deadline": "900 ms"},
        {"selection": {"name": "power_of_choice", "candidates": 6}, "deadline": "1.2 s"},
        {"selection": {"name": "weighted", "replacement": True}},
    ],
    ids=["plain", "deadline", "asking", "repeatedly"],
)
def test_one_edge_at_no_distance_is_the_server(tmp_path: Path, changes: dict[str, Any]) -> None:
    scenario = {**FLAKY, **changes}
    deadline = scenario.pop("deadline", "none")
    edge, plain = both(tmp_path, scenario, {**ONE, "deadline": deadline}, deadline=deadline)
    files = ["model.pt", "clients.csv"]
    for file in files:
        assert (edge.folder / file).read_bytes() == (plain.folder / file).read_bytes(), file
    kept = [[e for e in events(r.folder) if e["event"] not in OF_EDGES] for r in (edge, plain)]
    times = [sorted((e["t"], e["event"]) for e in log) for log in kept]
    assert times[0] == times[1]
    assert edge.rounds.drop(columns=OF_BACKHAUL).equals(plain.rounds.drop(columns=OF_BACKHAUL))
    size = 4 * len(model_of(edge))
    # Round 0 judges the model that the run begins with.
    assert (edge.rounds.download_bytes - plain.rounds.download_bytes).tolist() == [0, *4 * [size]]
    assert edge.summary["totals"]["backhaul_bytes"] == 8 * size


def test_one_edge_round_of_everybody_is_a_round_of_everybody(tmp_path: Path) -> None:
    """Means of edges, by their samples, are the mean; times are those of a backhaul more."""
    scenario = {**TINY, "rounds": {"clients": 8, "stop": {"rounds": 3}}}
    policy = {"name": "hierarchical", "edges": 2, "edge_rounds": 1, "latency": "1 s"}
    edges, plain = both(tmp_path, scenario, policy)
    np.testing.assert_allclose(model_of(edges), model_of(plain), rtol=0, atol=1e-6)
    later_s = edges.rounds.end_s - plain.rounds.end_s
    np.testing.assert_allclose(later_s, [2, 4, 6], rtol=1e-9)


class Halved(FedAvg):
    """Weighs by half of what it should, or fails."""

    fails: bool = False

    def weigh(self, samples: Sequence[int], copies: Sequence[int]) -> Any:
        if self.fails:
            raise ValueError("no weights today")
        return np.full(len(samples), 0.5)


def test_an_aggregator_of_ones_own_weighs_at_edges_and_at_the_cloud(tmp_path: Path) -> None:
    policy = {"name": "hierarchical", "edges": 2, "edge_rounds": 1, "clients_per_edge": 2}
    own = {"name": "tests.runs.test_hierarchical_runs:Halved"}
    scenario = {**TINY, "rounds": {"clients": 4, "policy": policy, "stop": {"rounds": 1}}}
    scenario["training"] = {**TINY["training"], "optimizer": {"name": "sgd", "lr": 1e-30}}
    alike, halved = (
        run({**scenario, "aggregation": how}, tmp_path / name, Options())[0]
        for name, how in (("alike", "fedavg"), ("halved", own))
    )
    # Two halves at each edge, and two of edges, are the whole again.
    np.testing.assert_allclose(model_of(halved), model_of(alike), rtol=1e-6)
    with pytest.raises(InputError, match=r"Halved.*weighing updates: .*no weights today"):
        Scenario.from_dict({**scenario, "aggregation": {**own, "fails": True}})


def test_edges_may_be_cells_of_several_groups(tmp_path: Path) -> None:
    groups = [("a", 3, "x"), ("b", 2, "y"), ("c", 3, "x")]
    fleet = [{**TINY["fleet"], "name": name, "count": n, "cell": cell} for name, n, cell in groups]
    policy = {"name": "hierarchical", "edges": "cells", "edge_rounds": 1}
    scenario = {
        **TINY,
        "fleet": fleet,
        "network": {"cells": {cell: {"uplink": "1 Mbit/s"} for cell in "xy"}},
        "rounds": {"clients": 8, "policy": policy, "stop": {"rounds": 1}},
    }
    [result] = run(scenario, tmp_path / "runs", Options(time_only=True))
    asked = [e["clients"] for e in events(result.folder) if e["event"] == "selected"]
    assert [sorted({client in (3, 4) for client in each}) for each in asked] == [[False], [True]]
    assert [len(each) for each in asked] == [4, 2]  # an edge of two has no more


def test_an_edge_looks_for_updates_whatever_is_on_its_way_to_another(tmp_path: Path) -> None:
    policy = {"name": "hierarchical", "edges": "groups", "edge_rounds": 2}
    ends_s = []
    for uplink in ("1 Mbit/s", "3 kbit/s"):
        fleet = [{**TINY["fleet"], "name": name, "count": 2} for name in "ab"]
        fleet[1]["uplink"] = uplink
        scenario = {
            **TINY,
            "fleet": fleet,
            "network": {"polling": "3 s"},
            "rounds": {"clients": 4, "policy": policy, "stop": {"rounds": 1}},
        }
        [result] = run(scenario, tmp_path / uplink[0], Options(time_only=True))
        parts = [e for e in events(result.folder) if e["event"] == "participation"]
        ends_s.append([part["upload_end_s"] for part in parts if part["group"] == "a"])
    assert ends_s[0] == ends_s[1]


def test_edges_may_be_groups_of_the_fleet_and_bytes_of_the_backhaul_are_checked(
    tmp_path: Path,
) -> None:
    fleet = [{**TINY["fleet"], "name": name, "count": n} for name, n in (("a", 5), ("b", 3))]
    policy = {"name": "hierarchical", "edges": "groups", "clients_per_edge": 2}
    scenario = {**TINY, "fleet": fleet, "rounds": {**TINY["rounds"], "policy": policy}}
    [result] = run(scenario, tmp_path / "runs", Options(time_only=True))
    asked = [(e["edge"], e["clients"]) for e in events(result.folder) if e["event"] == "selected"]
    assert len(asked) == 2 * 2 * 4
    assert all((client >= 5) == edge for edge, clients in asked for client in clients)
    assert sum(bytes_of(result).values()) == result.total_bytes
    log = result.folder / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"edge":1,"direction":"up"' not in line))
    broken = {finding.law for finding in check(result.folder) if finding.violation}
    assert broken == {"bytes", "event digest"}


def test_bytes_of_the_backhaul_are_told_of_a_run_that_goes_on(tmp_path: Path) -> None:
    """Up to its last whole round, whoever has been booked since; they were 0."""
    policy = {"name": "hierarchical", "edges": 2}
    scenario = {**TINY, "rounds": {**TINY["rounds"], "policy": policy}}
    [result] = run(scenario, tmp_path / "runs", Options(time_only=True))
    in_all = result.backhaul_bytes
    (result.folder / "summary.json").unlink()
    rounds = result.folder / "rounds.csv"
    rounds.write_text("".join(rounds.read_text().splitlines(keepends=True)[:-1]))
    going_on = RunResult(result.folder)
    assert going_on.n_rounds == 3
    assert bytes_of(going_on)["models of edges, on the backhaul"] == in_all * 3 / 4 > 0
    clients = result.folder / "clients.csv"
    clients.write_text("".join(clients.read_text().splitlines(keepends=True)[:9]))
    assert RunResult(result.folder).backhaul_bytes == 0  # rounds were read before all was there


@pytest.mark.parametrize("deadline", ["1.2 s", {"stragglers": "50%"}])
def test_deadlines_of_edge_rounds_are_checked(tmp_path: Path, deadline: Any) -> None:
    policy = {"name": "hierarchical", "edges": 2, "deadline": deadline}
    scenario = {**TINY, "rounds": {**TINY["rounds"], "policy": policy}}
    [result] = run(scenario, tmp_path / "runs", Options(time_only=True))
    assert {"arrived", "late"} <= {*result.clients.outcome}
    for column, doctored in (("outcome", lambda _: "late"), ("upload_end_s", later)):
        folder = Path(shutil.copytree(result.folder, tmp_path / column))
        in_table(folder, "clients.csv", column, doctored, first("arrived", folder))
        assert "deadlines" in {finding.law for finding in check(folder) if finding.violation}


def test_at_each_edge_everybody_has_a_turn(tmp_path: Path) -> None:
    """Edges that went on where another had stopped always asked their first two."""
    policy = {"name": "hierarchical", "edges": 2, "clients_per_edge": 2}
    rounds = {"clients": 4, "policy": policy, "stop": {"rounds": 2}}
    scenario = {**TINY, "rounds": rounds, "selection": "round_robin"}
    [result] = run(scenario, tmp_path / "runs", Options(time_only=True))
    asked = [e["clients"] for e in events(result.folder, "selected") if e["edge"] == 1]
    assert asked == [[1, 3], [5, 7], [1, 3], [5, 7]]


def test_selectors_are_told_whose_edge_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def spying(self: Uniform, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        told.append((view.part, view.members.tolist()))
        return view.available[:k]

    monkeypatch.setattr(Uniform, "select", spying)
    rounds = {
        "policy": {"name": "hierarchical", "edges": 3, "edge_rounds": 1},
        "stop": {"rounds": 1},
    }
    run({**TINY, "rounds": rounds}, tmp_path / "runs", Options(time_only=True))
    assert sorted(told) == [(0, [0, 3, 6]), (1, [1, 4, 7]), (2, [2, 5])]
