"""Metamorphic tests: what must not change, and what must change just so, when a scenario does."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options, RunResult, Scenario, run
from simfl.build.builder import Builder
from simfl.training.executors.base import executors
from tests.run_folders import events

DATA: dict[str, Any] = {
    "name": "meta",
    "data": {
        "dataset": {"name": "synthetic_images", "samples": 300, "test_samples": 40, "size": 6}
    },
    "model": {"name": "mlp", "hidden": [8]},
    "training": {"epochs": 2, "batch_size": 8},
}
FLEET = [
    {
        "name": "phones",
        "count": 6,
        "compute": {"distribution": "lognormal", "median": "20 samples/s", "sigma": 0.7},
        "downlink": "50 kbit/s",
        "uplink": {"distribution": "lognormal", "median": "20 kbit/s", "sigma": 0.5},
        "latency": {"distribution": "exponential", "mean": "100 ms"},
        "availability": {"name": "on_off", "on": "20 s", "off": "10 s"},
        "on_offline": "pause",
    },
    {
        "name": "boards",
        "count": 4,
        "compute": {
            "distribution": "zipf",
            "exponent": 1.2,
            "scale": "3 samples/s",
            "max": "60 samples/s",
        },
    },
]
NEVER = {"name": "on_off", "on": "1 us", "off": "100000 d"}
POLICIES = [
    {"name": "synchronous"},
    {"name": "synchronous", "deadline": {"stragglers": "30%"}, "late": "carry"},
    {"name": "fedbuff", "buffer": 3},
    {"name": "semi_synchronous", "period": "8 s"},
    {"name": "tiered", "tiers": 2},
    {"name": "hierarchical", "edges": 2},
]
TIME_ONLY = Options(time_only=True)


def scenario(
    fleet: Any = FLEET,
    policy: Any = "synchronous",
    rounds: int = 8,
    clients: int = 4,
    **more: Any,
) -> Scenario:
    document = {
        **DATA,
        "fleet": fleet,
        "rounds": {"clients": clients, "policy": policy, "stop": {"rounds": rounds}},
        **more,
    }
    return Scenario.from_dict(json.loads(json.dumps(document)))


def simulate(tmp_path: Path, label: str, one: Scenario, options: Options = TIME_ONLY) -> RunResult:
    [result] = run(one, tmp_path / label, options)
    return result


def ids(policy: Mapping[str, Any]) -> str:
    return "-".join(str(value) for value in policy.values())


def test_adding_an_idle_group_changes_no_other_device_s_draws() -> None:
    """A new group, put before, between or after the others, shifts nobody's numbers or outages."""
    idle = {"name": "idle", "count": 3, "availability": NEVER}

    def built(fleet: Any) -> Builder:
        partition = {"name": "iid"}
        one = scenario(fleet, data={**DATA["data"], "partition": partition})
        return Builder(one, None, True, executors.parse("inline"))

    plain = built(FLEET)
    for place in range(3):
        more = built([*FLEET[:place], idle, *FLEET[place:]])
        start = {0: 0, 1: 6, 2: 10}[place]
        kept = np.array([i for i in range(13) if not start <= i < start + 3])
        for number in ("rate", "downlink_bps", "uplink_bps", "latency_s"):
            mine, theirs = getattr(plain.fleet, number), getattr(more.fleet, number)
            assert np.array_equal(mine, theirs[kept]), number
        for now in np.linspace(0, 500, 60):
            mine = plain.fleet.online(np.arange(10), now)
            assert np.array_equal(mine, more.fleet.online(kept, now))


@pytest.mark.parametrize("policy", POLICIES, ids=ids)
def test_adding_an_idle_group_changes_nothing_that_happens(tmp_path: Path, policy: Any) -> None:
    """Devices that never come online: the same cohorts, instants and bytes without them."""
    if "deadline" in policy:  # a share of the fleet would count them
        policy = {**policy, "deadline": "9 s"}
    data = {"dataset": {"name": "generated", "mean_samples": 30}, "partition": "natural"}
    idle = {"name": "idle", "count": 5, "availability": NEVER}
    plain = scenario(policy=policy, data=data, model="logistic_regression")
    more = scenario([*FLEET, idle], policy, data=data, model="logistic_regression")
    first, second = simulate(tmp_path, "plain", plain), simulate(tmp_path, "more", more)

    def log(result: RunResult) -> list[dict[str, Any]]:
        # The distance of a round's labels from everybody's is another with more of everybody.
        return [{**event, "gemd": None} for event in events(result.folder)]

    assert log(first) == log(second)
    assert len(first.rounds) == 8


def test_doubling_every_speed_halves_compute_times_exactly(tmp_path: Path) -> None:
    """Two is a power of two: not a bit is lost."""
    fleet = [
        {"name": "a", "count": 6, "compute": "11 samples/s", "downlink": "50 kbit/s"},
        {
            "name": "b",
            "count": 4,
            "compute": {"distribution": "uniform", "min": "3 samples/s", "max": "40 samples/s"},
        },
    ]
    twice = json.loads(
        json.dumps(fleet)
        .replace("11 samples", "22 samples")
        .replace("3 samples", "6 samples")
        .replace("40 samples", "80 samples")
    )
    builders = [
        Builder(scenario(each), None, True, executors.parse("inline")) for each in (fleet, twice)
    ]
    assert np.array_equal(2 * builders[0].fleet.rate, builders[1].fleet.rate)
    slow = simulate(tmp_path, "slow", scenario(fleet, rounds=1)).clients
    fast = simulate(tmp_path, "fast", scenario(twice, rounds=1)).clients
    assert slow.client.tolist() == fast.client.tolist()
    assert slow.download_end_s.tolist() == fast.download_end_s.tolist()
    at_once = slow.download_end_s == 0
    assert 0 < at_once.sum() < len(slow)
    assert (slow.compute_end_s[at_once] == 2 * fast.compute_end_s[at_once]).all()
    # After a download the durations are differences of instants, rounded to those.
    took = [(each.compute_end_s - each.download_end_s).to_numpy() for each in (slow, fast)]
    assert took[0] == pytest.approx(2 * took[1], rel=1e-14)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("faster", ["downlink", "uplink", "both"])
def test_a_faster_network_never_lengthens_a_synchronous_round(
    tmp_path: Path, faster: str, shared: bool
) -> None:
    """Without deadlines or outages, round by round (the cohorts are the same)."""

    def fleet(down: int, up: int) -> list[dict[str, Any]]:
        mixed = {"distribution": "lognormal", "median": f"{up} kbit/s", "sigma": 1.0}
        return [
            {
                "name": "a",
                "count": 10,
                "compute": "30 samples/s",
                "uplink": mixed,
                "downlink": f"{down} kbit/s",
            }
        ]

    network = {"server_uplink": "100 kbit/s", "server_downlink": "60 kbit/s"} if shared else {}
    more: dict[str, Any] = {"network": network} if shared else {}
    before = (20, 10)
    after = {"downlink": (60, 10), "uplink": (20, 30), "both": (60, 30)}[faster]
    slow = simulate(tmp_path, "slow", scenario(fleet(*before), rounds=12, **more))
    fast = simulate(tmp_path, "fast", scenario(fleet(*after), rounds=12, **more))
    lengths = [(result.rounds.end_s - result.rounds.start_s).to_numpy() for result in (slow, fast)]
    assert (lengths[1] <= lengths[0] * (1 + 1e-12)).all()
    assert lengths[1].sum() < lengths[0].sum()


@pytest.mark.parametrize("policy", POLICIES, ids=ids)
def test_time_only_and_trained_runs_have_equal_event_logs(tmp_path: Path, policy: Any) -> None:
    """Apart from what tensors say: losses, accuracies and their lines."""
    aggregation = "fedavg" if policy["name"] == "hierarchical" else "fedbuff"
    one = scenario(policy=policy, rounds=5, aggregation=aggregation)
    trained = events(simulate(tmp_path, "trained", one, Options()).folder)
    clock = events(simulate(tmp_path, "clock", one).folder)
    learned = {"losses", "accuracy", "loss", "train_loss"}
    strip = [
        [
            {key: value for key, value in event.items() if key not in learned}
            for event in log
            if event["event"] != "evaluated"
        ]
        for log in (trained, clock)
    ]
    assert strip[0] == strip[1]
    assert any(event["event"] == "evaluated" for event in trained)


def test_groups_in_another_order_take_as_long(tmp_path: Path) -> None:
    """Everybody takes part: only the ids of the devices change."""
    fast = {"name": "fast", "count": 5, "compute": "40 samples/s", "uplink": "40 kbit/s"}
    slow = {"name": "slow", "count": 5, "compute": "10 samples/s", "uplink": "10 kbit/s"}
    network = {"server_downlink": "100 kbit/s"}
    both = [
        simulate(tmp_path, label, scenario(fleet, clients=10, rounds=2, network=network))
        for label, fleet in (("one", [fast, slow]), ("other", [slow, fast]))
    ]
    assert both[0].rounds.end_s.tolist() == pytest.approx(both[1].rounds.end_s.tolist(), rel=1e-14)
    assert both[0].rounds.upload_bytes.tolist() == both[1].rounds.upload_bytes.tolist()


@pytest.mark.parametrize("name", ["synchronous", "fedbuff", "semi_synchronous"])
def test_where_everything_takes_so_many_times_as_long_so_do_runs(tmp_path: Path, name: str) -> None:
    """No instant, however small, is a constant: links, batteries, outages and all that draws."""
    world, slow = (simulate(tmp_path, f"{k}", slowed(k, name, tmp_path)) for k in (1, 1024))
    assert {"arrived", "offline"} <= set(world.clients.outcome)
    kept = ["client", "outcome", "steps", "staleness", "download_bytes", "upload_bytes"]
    assert world.clients[kept].equals(slow.clients[kept])
    for columns in (["selected_s", "upload_end_s", "energy_j"], ["end_s", "idle_energy_j"]):
        tables = [
            each.clients if "selected_s" in columns else each.rounds for each in (world, slow)
        ]
        now, later = (table[columns].to_numpy(float) for table in tables)
        np.testing.assert_allclose(later, 1024 * now, rtol=1e-9)


def slowed(times: int, policy: str, folder: Path) -> Scenario:
    """Return a scenario in which everything takes so many `times` as long."""

    def rate(number: float, unit: str) -> str:
        return f"{number / times!r} {unit}"

    def lasts(seconds: float) -> str:
        return f"{seconds * times!r} s"

    (folder / f"{times}.csv").write_text(f"time_s,factor\n0,1\n{9 * times},0.5\n")
    policies: dict[str, dict[str, Any]] = {
        "synchronous": {"deadline": lasts(25), "late": "carry", "server_time": lasts(1.5)},
        "fedbuff": {"buffer": 3, "timeout": lasts(40)},
        "semi_synchronous": {"period": {"stragglers": "30%"}},
    }
    comes_and_goes = {"name": "on_off", "on": lasts(30), "off": lasts(8)}
    phones = {
        "name": "phones",
        "count": 6,
        "compute": {
            "distribution": "lognormal",
            "median": rate(9, "samples/s"),
            "sigma": 0.7,
        },
        "uplink": rate(9000, "bit/s"),
        "downlink": rate(20000, "bit/s"),
        "latency": lasts(0.25),
        "link_jitter": {"sigma": 0.3},
        "power": {"idle": "1 W", "compute": "4 W"},
        "availability": comes_and_goes,
        "on_offline": "salvage",
    }
    boards = {
        "name": "boards",
        "count": 4,
        "compute": rate(6, "samples/s"),
        "cell": "home",
        "power": {"idle": "1 W", "upload": "2 W"},
        "battery": {
            "capacity": f"{60 * times} J",
            "charge": "3 W",
            "plugged": comes_and_goes,
        },
    }
    return Scenario.from_dict(
        {
            **DATA,
            "fleet": [phones, boards],
            "network": {
                "server_downlink": rate(30000, "bit/s"),
                "cells": {"home": {"uplink": rate(8000, "bit/s")}},
                "rates": {"file": f"{times}.csv", "period": lasts(20)},
                "initial_window": "500 B",
                "overhead": "5%",
            },
            "rounds": {
                "clients": 4,
                "policy": {"name": policy, **policies[policy]},
                "stop": {"rounds": 10},
            },
            "aggregation": "fedbuff",
        },
        folder=folder,
    )
