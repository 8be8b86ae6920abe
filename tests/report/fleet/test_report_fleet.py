"""The fleet before a run: closed forms, and agreement with what a run then does."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl import Options, Scenario, run
from simfl.cli._preview import builder
from simfl.report.figures.savefig import save
from simfl.report.fleet.expected_round import DRAWS, expected_order
from simfl.report.fleet.facts import FleetFacts, Spread
from simfl.report.fleet.picture import picture
from simfl.report.fleet.survey import survey
from simfl.report.fleet.text import sentences
from tests.run_folders import events

FLEET = {
    "count": 30,
    "compute": "50 samples/s",
    "downlink": "1 Mbit/s",
    "uplink": "100 kbit/s",
    "latency": "20 ms",
}
PARAMETERS_BYTES = 4 * 610  # 60 features and a bias, 10 classes


def scenario(**changes: Any) -> Scenario:
    """Thirty devices; the data set's sizes are those of FedProx's generator."""
    data = {
        "name": "surveyed",
        "data": {"dataset": {"name": "synthetic", "alpha": 1, "beta": 1}},
        "model": "logistic_regression",
        "fleet": FLEET,
        "training": {"epochs": 3, "batch_size": 8},
        "rounds": {"clients": 4, "stop": {"rounds": 40}},
    }
    return Scenario.from_dict(data | changes)


def facts(**changes: Any) -> FleetFacts:
    return survey(builder(scenario(**changes), None))


@pytest.mark.parametrize("count", [2, 18])
def test_names_of_groups_leave_the_charts_room(count: int) -> None:
    """Of long names no chart was left, and matplotlib warned of that in the terminal."""
    name = "smartphones-of-the-oldest-generation-in-the-countryside-{}"
    device = {"count": 30 // count, "compute": "50 samples/s", "uplink": "100 kbit/s"}
    figure = picture(facts(fleet=[{"name": name.format(n), **device} for n in range(count)]))
    figure.draw_without_rendering()
    charts = figure.axes
    assert all(axes.get_window_extent().width > figure.bbox.width / 4 for axes in charts)
    legends = [*figure.legends, *(legend for a in charts if (legend := a.get_legend()))]
    assert len(figure.legends) == (count > 8)
    for legend in legends:
        box = legend.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_one_devices_round_in_closed_form() -> None:
    found = facts()
    bits = 8 * PARAMETERS_BYTES
    expected = 0.04 + bits / 1e6 + 3 * found.columns["samples"] / 50 + bits / 1e5
    np.testing.assert_allclose(found.columns["round"], expected, rtol=1e-12)
    (group,) = found.groups
    assert group.numbers["compute"] == Spread(50, 50, 50)
    assert group.numbers["latency"] == Spread(0.02, 0.02, 0.02)
    assert group.phases["download"] == pytest.approx(0.02 + bits / 1e6)
    assert group.phases["upload"] == pytest.approx(0.02 + bits / 1e5)
    assert group.phases["compute"] == pytest.approx(3 * found.columns["samples"].mean() / 50)
    assert (group.count, group.online, group.without_data) == (30, 1.0, 0)
    assert math.isnan(group.in_time)


def test_phases_are_the_clocks_protocols_and_shared_links_included() -> None:
    network = {"overhead": "10%", "message_overhead": "1 kB", "server_uplink": "500 kbit/s"}
    (group,) = facts(network=network).groups
    bits = 8 * (1.1 * PARAMETERS_BYTES + 1000)
    assert group.phases["download"] == pytest.approx(0.02 + bits / 5e5)
    assert group.phases["upload"] == pytest.approx(0.02 + bits / 1e5)


@given(
    st.lists(st.floats(0.1, 100), min_size=1, max_size=7),
    st.integers(1, 7),
    st.integers(1, 7),
)
@settings(max_examples=50)
def test_expected_order_statistics_by_enumeration(
    times: list[float], drawn: int, rank: int
) -> None:
    drawn = min(drawn, len(times))
    rank = min(rank, drawn)
    kept = [sorted(some)[rank - 1] for some in itertools.combinations(times, drawn)]
    found = expected_order(np.array(times), drawn, rank)
    assert found == pytest.approx(sum(kept) / len(kept), rel=1e-9)


def test_expected_round_of_a_large_fleet_is_finite() -> None:
    times = np.random.default_rng(0).exponential(size=200_000)
    # The mean of the largest of k exponentials is the k-th harmonic number.
    harmonic = sum(1 / i for i in range(1, 11))
    assert expected_order(times, 10, 10) == pytest.approx(harmonic, rel=0.01)


def test_the_expected_round_is_that_of_a_run(tmp_path: Path) -> None:
    one = scenario(rounds={"clients": 4, "stop": {"rounds": 600}})
    expected = survey(builder(one, None)).expected_round_s
    (result,) = run(one, tmp_path / "run", Options(time_only=True))
    taken = result.rounds.end_s - result.rounds.start_s
    error = taken.std() / math.sqrt(len(taken))
    assert abs(taken.mean() - expected) < 4 * error


@pytest.mark.parametrize("deadline", ["none", "15 s"])
def test_the_servers_time_is_in_the_round(deadline: str, tmp_path: Path) -> None:
    """By the deadline somebody arrives in most rounds only: else the server has nothing to do."""
    policy = {"name": "synchronous", "deadline": deadline, "server_time": "7 s"}
    one = scenario(rounds={"clients": 2, "policy": policy, "stop": {"rounds": 2000}})
    found = survey(builder(one, None))
    (result,) = run(one, tmp_path / "run", Options(time_only=True))
    taken = result.rounds.end_s - result.rounds.start_s
    error = taken.std() / math.sqrt(len(taken))
    assert abs(taken.mean() - found.expected_round_s) < 4 * error
    assert (result.rounds.arrived == 0).any() == (deadline != "none")


def test_rounds_that_are_not_synchronous_are_not_said_to_be() -> None:
    rounds = {"clients": 4, "stop": {"rounds": 40}}
    plain, policy = facts(), {"name": "semi_synchronous", "period": "15 s"}
    found = facts(rounds={**rounds, "policy": policy})
    assert found.expected_round_s == plain.expected_round_s
    [told], [other] = sentences(plain), sentences(found)
    assert told.startswith("A synchronous round with 4 clients drawn uniformly takes ")
    length = told.partition(" takes ")[2]
    assert other == (
        "Rounds of policy 'semi_synchronous' go otherwise; a synchronous round with 4 clients "
        f"drawn uniformly would take {length}"
    )
    assert found.as_dict()["other_policy"] == "semi_synchronous"


def test_what_the_expected_round_leaves_out_is_told() -> None:
    plain = facts()
    assert plain.left_out == []
    assert len(sentences(plain)) == 1
    policy = {"name": "synchronous", "deadline": "15 s"}
    found = facts(
        fleet={"count": 4, "compute_jitter": {"sigma": 0.3}},
        network={"polling": "3 s"},
        rounds={"clients": 2, "policy": policy},
        training={"workload": "partial_epochs"},
    )
    assert found.left_out == ["fleet.compute_jitter", "network.polling", "training.workload"]
    told = "Left out of that: fleet.compute_jitter, network.polling and training.workload."
    assert told in sentences(found)
    assert found.as_dict()["left_out"] == found.left_out


@pytest.mark.parametrize(
    ("changes", "left_out"),
    [
        ({"policy": {"over_select": "150%", "late": "carry"}}, ["rounds.policy.late"]),
        ({"policy": {"deadline": "15 s", "late": "carry"}}, ["rounds.policy.late"]),
        ({"policy": {"deadline": "15 s", "enforce": False, "late": "carry"}}, []),
        ({"training": {"workload": "fedsae"}}, ["training.workload"]),
        ({"training": {"filter": "cmfl"}}, ["training.filter"]),
        ({"cells": {"hall": {"rates": {"file": "r.csv"}}}}, ["network.cells.hall.rates"]),
        ({"network": {"initial_window": "9 kB"}}, []),
        ({"network": {"initial_window": "9 kB", "queue_limit": "5 kB"}}, ["network.queue_limit"]),
    ],
    ids=str,
)
def test_what_makes_rounds_longer_or_shorter_than_they_are_expected_to_be_is_left_out(
    changes: dict[str, Any], left_out: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With updates carried over, a round took a third of what was told, and nothing was said.

    Where packets are lost the first downloads are the fastest.
    """
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text("time_s,factor\n0,1\n9,0.5\n")
    cells, network = changes.get("cells", {}), changes.get("network", {})
    uplinks = {name: {"uplink": "1 Mbit/s", **cell} for name, cell in cells.items()}
    found = facts(
        fleet={"count": 6, "compute": "50 samples/s", **({"cell": "hall"} if cells else {})},
        network={"cells": uplinks, **network},
        rounds={"clients": 4, "policy": {"name": "synchronous", **changes.get("policy", {})}},
        training={"epochs": 3, **changes.get("training", {})},
    )
    assert found.left_out == left_out


def test_no_edge_waits_for_more_than_it_has() -> None:
    policy = {"name": "hierarchical", "edges": 2, "clients_per_edge": 20}
    found = facts(rounds={"policy": policy})
    assert found.quorum == 15
    assert found.left_out == []
    assert sentences(found)[0].startswith(
        "A round of 2 edge servers, 2 rounds each with 15 clients drawn uniformly, takes "
    )


@pytest.mark.parametrize("deadline", ["none", "15 s"])
def test_a_round_of_edge_servers_is_expected_as_it_goes(deadline: str, tmp_path: Path) -> None:
    """A synchronous round was told instead, three times shorter."""
    policy = {
        "name": "hierarchical", "edges": 4, "edge_rounds": 3, "deadline": deadline,
        "latency": "1 s", "uplink": "10 kbit/s", "server_time": "2 s",
    }  # fmt: skip
    one = scenario(rounds={"clients": 8, "policy": policy, "stop": {"rounds": 100}})
    found = survey(builder(one, None))
    assert found.other_policy == ""
    assert found.as_dict()["edge_rounds"] == {"edges": 4, "rounds": 3, "clients": 2}
    assert found.included == ["the backhaul", "the server's time"]
    (result,) = run(one, tmp_path / "run", Options(time_only=True))
    taken = result.rounds.end_s - result.rounds.start_s
    error = taken.std() * math.sqrt(1 / len(taken) + 1 / DRAWS)
    assert abs(taken.mean() - found.expected_round_s) < 4 * error


@pytest.mark.parametrize(
    "policy",
    [
        {"name": "fedbuff", "buffer": 5, "concurrency": 12},
        {"name": "fedasync", "timeout": "15 s"},
        {"name": "fedbuff", "buffer": 5, "concurrency": 30},
    ],
)
def test_a_buffer_fills_as_fast_as_in_a_run(policy: dict[str, Any], tmp_path: Path) -> None:
    """A synchronous round was told instead."""
    rounds = {"clients": 4, "policy": policy, "stop": {"rounds": 600}}
    one = scenario(rounds=rounds, aggregation=policy["name"])
    found = survey(builder(one, None))
    assert found.other_policy == ""
    (result,) = run(one, tmp_path / "run", Options(time_only=True))
    assert result.end_s / 600 == pytest.approx(found.expected_round_s, rel=0.05)
    assert found.buffered is not None
    told = f"with {found.buffered.clients} clients at work who are drawn uniformly, takes "
    assert told in sentences(found)[0]


def test_what_the_expected_round_includes_is_told_where_it_takes_time() -> None:
    """Of uniform selection, which asks nothing, what it "asks of participants" counted."""
    assert sentences(facts())[0].endswith(" every link to itself.")
    asking = sentences(facts(selection="oort"))[0]
    assert asking.endswith("itself, what selector 'oort' asks of participants included.")
    policy = {"name": "synchronous", "server_time": "2 s"}
    both = sentences(facts(selection="afl", rounds={"clients": 2, "policy": policy}))[0]
    assert both.endswith("'afl' asks of participants and the server's time included.")


def test_who_is_late(tmp_path: Path) -> None:
    policy = {"name": "synchronous", "deadline": {"stragglers": "30%"}}
    timed = facts(rounds={"clients": 4, "policy": policy})
    (group,) = timed.groups
    assert group.in_time == pytest.approx(0.7)
    assert timed.expected_round_s <= timed.deadline_s
    yardstick = facts(rounds={"clients": 4, "policy": {**policy, "enforce": False}})
    assert yardstick.deadline_s == timed.deadline_s
    assert yardstick.expected_round_s == facts().expected_round_s > timed.expected_round_s


def test_who_needs_exactly_as_long_as_the_deadline_is_in_time() -> None:
    """Three times seven samples, 0.7 a second: 30 s, of which 21 / 0.7 is a hair more."""
    dataset = {"name": "synthetic_images", "samples": 21, "test_samples": 5, "size": 4}
    found = facts(
        data={"dataset": dataset, "partition": "iid"},
        fleet={"count": 3, "compute": "0.7 samples/s"},
        rounds={
            "clients": 2,
            "policy": {"name": "synchronous", "deadline": "30 s"},
            "stop": {"rounds": 1},
        },
    )
    assert found.groups[0].in_time == 1


def test_over_selection_shortens_rounds() -> None:
    more = facts(rounds={"clients": 4, "policy": {"name": "synchronous", "over_select": "150%"}})
    assert (more.clients, more.asked) == (4, 6)
    assert more.expected_round_s < facts(rounds={"clients": 6}).expected_round_s


def test_groups_and_availability() -> None:
    on_off = {"name": "on_off", "on": "1 h", "off": "3 h"}
    found = facts(
        fleet=[
            {"name": "phones", "count": 20, "availability": on_off},
            {"name": "boards", "count": 10, "attack": "sign_flip"},
        ]
    )
    phones, boards, everybody = found.groups
    assert [group.name for group in found.groups] == ["phones", "boards", "all"]
    assert phones.online == pytest.approx(0.25, abs=0.06)
    assert boards.online == 1.0
    assert everybody.online == pytest.approx((20 * phones.online + 10) / 30)
    assert boards.numbers["uplink"].p50 == math.inf
    assert [group.attackers for group in found.groups] == [0, 10, 10]
    assert found.as_dict()["groups"][1]["numbers"]["uplink"]["p50"] is None


def test_a_group_called_all_is_not_all_devices() -> None:
    """Two columns had one name, and one of them was of some devices only."""
    found = facts(fleet=[{"name": name, "count": 2} for name in ("all", "group all")])
    told = {group.name: group.count for group in found.groups}
    assert told == {"group all": 2, "group group all": 2, "all": 4}


def test_a_quorum_that_is_hardly_ever_met_is_told() -> None:
    """The run looked for it through 30 days of virtual time before anybody knew."""
    fleet = {**FLEET, "availability": {"name": "on_off", "on": "10 min", "off": "1 h"}}
    found = facts(fleet=fleet, rounds={"clients": 25, "min_clients": 20})
    assert found.quorum == 20
    assert 30 / 7 < found.most_online < 20
    told = "once 20 clients are available at once (`rounds.min_clients`); in a week never"
    assert told in sentences(found)[0]
    assert f"never more than {found.most_online:.0f} of 30 devices are" in sentences(found)[0]
    for met in ({"clients": 25, "min_clients": 2}, {"clients": 25, "policy": "fedbuff"}):
        assert "available at once" not in sentences(facts(fleet=fleet, rounds=met))[0]


def test_who_is_charged_too_little_for_work_does_not_count_as_online() -> None:
    """Half a watt-hour is missing, which a charger of 0.1 W takes 5 of 168 hours for."""
    never = {"capacity": "10 Wh", "start": "45%", "minimum": "50%"}
    group = {"count": 5, "power": {"idle": "0 W"}}
    found = facts(
        fleet=[
            {"name": "full", **group, "battery": {**never, "start": "55%"}},
            {"name": "low", **group, "battery": never},
            {"name": "fed", **group, "battery": {**never, "charge": "0.1 W", "plugged": "always"}},
            {"name": "mains", **group},
        ]
    )
    online = {group.name: group.online for group in found.groups}
    assert online["full"] == online["mains"] == 1.0
    assert online["low"] == 0.0
    assert online["fed"] == pytest.approx(1 - 5 / 168, abs=0.5 / 168)
    told = "Online of full, low and fed: and charged enough to take work, in the mean over a week"
    assert sentences(found)[0].startswith(
        told
    )  # of a battery that nothing charges, 0% was no week's


def test_the_fleet_is_that_of_a_run(tmp_path: Path) -> None:
    drawn = {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.5}
    one = scenario(
        fleet={"count": 30, "compute": drawn}, rounds={"clients": 30, "stop": {"rounds": 1}}
    )
    found = survey(builder(one, None))
    (result,) = run(one, tmp_path / "run", Options(time_only=True))
    table = result.clients.sort_values("client")
    np.testing.assert_array_equal(table.upload_end_s, found.columns["round"])


def test_selectors_that_need_training_have_a_fleet_too() -> None:
    assert facts(selection="power_of_choice").expected_round_s == facts().expected_round_s


ALIKE: dict[str, Any] = {
    "data": {"dataset": {"name": "synthetic_images", "samples": 240, "size": 6}},
    "model": "mlp",
    "fleet": {"count": 8, "compute": "50 samples/s", "downlink": "2 Mbit/s", "uplink": "1 Mbit/s"},
    "rounds": {"clients": 3, "stop": {"rounds": 2}},
}
"""Devices that are all alike, so that it does not matter who is chosen."""


@pytest.mark.parametrize("selector", ["uniform", "fedacs", "oort"])
def test_what_a_selector_has_measured_is_in_the_round(selector: str, tmp_path: Path) -> None:
    one = scenario(**ALIKE, selection=selector)
    (result,) = run(one, tmp_path / "run")
    taken = result.rounds.end_s - result.rounds.start_s
    assert survey(builder(one, None)).expected_round_s == pytest.approx(taken[0], rel=1e-12)


@pytest.mark.parametrize("selector", ["uniform", "power_of_choice", "k_dpp", "fedcor", "tifl"])
def test_what_a_selector_asks_takes_as_long_as_in_a_run(selector: str, tmp_path: Path) -> None:
    one = scenario(**ALIKE, selection=selector)
    (result,) = run(one, tmp_path / "run")
    first = [event for event in events(result.folder) if event.get("round") == 1]
    asked = [event["t"] for event in first if event["event"] == "probe"]
    answered = [event["t"] for event in first if event["event"] == "probed"]
    found = survey(builder(one, None))
    assert found.asked_s == pytest.approx(sum(answered) - sum(asked), rel=1e-12)
    assert (found.asked_s > 0) == (selector != "uniform")
    assert any("asks clients" in line for line in sentences(found)) == (selector != "uniform")


def test_a_selector_asks_once_somebody_is_there() -> None:
    """Where nobody was online at first, it was told to have chosen nobody, which is no result."""
    night = {"name": "diurnal", "low": 0, "starts_at": "12 h", "time_zones": "0 s"}
    fleet = ALIKE["fleet"]
    asked = [
        survey(builder(scenario(**{**ALIKE, "fleet": own}, selection="power_of_choice"), None))
        for own in (fleet, {**fleet, "availability": night})
    ]
    assert asked[1].asked_s == pytest.approx(asked[0].asked_s, rel=1e-9)


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_pictures_have_the_same_bytes_again(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(picture(facts()), tmp_path / f"{name}{ending}")
    first, second = (tmp_path / f"{name}{ending}" for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1000


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"rounds": {"clients": 4, "policy": {"name": "fedbuff", "timeout": "1 ms"}}},
            "is ever done in time.",
        ),
        ({"fleet": {**FLEET, "memory": "1 kB"}}, "can train."),
    ],
)
def test_a_round_that_never_ends_takes_no_time_that_could_be_told(
    changes: dict[str, Any], told: str
) -> None:
    """It took a dash in the mean."""
    if "rounds" in changes:
        changes = {**changes, "aggregation": "fedbuff"}
    lines = [line for line in sentences(facts(**changes)) if "never ends" in line]
    assert [line.endswith(f"never ends: no device {told}") for line in lines] == [True]
