"""Cells on the timeline: shared by a group's devices, below the server's link or without one."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl import Options, Scenario, run
from simfl.core.seeds import Seeds
from simfl.errors import ScenarioError
from simfl.sim.networks.base import Links, networks
from simfl.sim.occasions import Jitter, VaryingGroup
from simfl.sim.timeline import Timeline
from tests.counting import calls
from tests.sim.networks.flows import fired

HOME = {"home": {"downlink": "1 kB/s", "uplink": "500 B/s"}}
SERVERS = [{}, {"server_uplink": "1 GB/s", "server_downlink": "1 GB/s"}]
"""None, and one that is no bottleneck: cells alone, and cells below a server's link."""


def bind(
    timeline: Timeline,
    cells: Sequence[int],
    latency: float = 0.0,
    bps: float = math.inf,
    **options: Any,
) -> Links:
    network = networks.parse({"name": "shared", "cells": HOME, **options})
    n = len(cells)
    return network.bind(
        timeline,
        np.full(n, bps),
        np.full(n, bps),
        np.full(n, latency),
        cells=np.array(cells, dtype=np.int64),
    )


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("n", [1, 2, 30])
def test_n_equal_transfers_in_a_cell_take_n_times_bytes_over_capacity(
    n: int, server: dict[str, Any]
) -> None:
    timeline = Timeline()
    links = bind(timeline, [0] * n, latency=0.25, **server)
    ways = [links.transfer(i, "down", 500) for i in range(n)]
    ways += [links.transfer(i, "up", 500) for i in range(n)]
    expected = [0.25 + n * 0.5] * n + [0.25 + n * 1.0] * n
    assert fired(timeline, ways) == pytest.approx(expected, rel=1e-12)


def test_who_is_in_no_cell_meets_nobody() -> None:
    timeline = Timeline()
    links = bind(timeline, [0, 0, -1], latency=0.5, bps=8000.0)
    assert links.duration_s(0, "down", 1000) is None
    assert links.duration_s(2, "down", 1000) == links.expected_s(2, "down", 1000) == 1.5
    assert fired(timeline, [links.transfer(i, "down", 1000) for i in range(3)]) == [2.5, 2.5, 1.5]


def test_what_is_expected_is_the_narrowest_link_on_the_way() -> None:
    timeline = Timeline()
    for server, cell, expected in [("250 B/s", 0, 4.0), ("2 kB/s", 0, 2.0), ("250 B/s", -1, 4.0)]:
        links = bind(timeline, [cell], server_downlink=server)
        assert links.expected_s(0, "up", 1000) == expected
    assert bind(timeline, [0], bps=800.0).expected_s(0, "up", 1000) == 10.0


def test_the_server_is_the_bottleneck_by_hand() -> None:
    """900 B/s by three are 300 each, less than half of what the cell can carry."""
    timeline = Timeline()
    links = bind(timeline, [0, 0, -1], server_uplink="900 B/s")
    assert fired(timeline, [links.transfer(i, "down", 300) for i in range(3)]) == [1.0] * 3


def test_a_cell_is_the_bottleneck_by_hand() -> None:
    """Each of two has half of the cell's 1 kB/s; the third takes all the server has left."""
    timeline = Timeline()
    links = bind(timeline, [0, 0, -1], server_uplink="3 kB/s")
    assert fired(timeline, [links.transfer(i, "down", 1000) for i in range(3)]) == [2.0, 2.0, 0.5]


@pytest.mark.parametrize("server", SERVERS)
def test_an_aborted_transfer_speeds_the_others_of_its_cell_up(server: dict[str, Any]) -> None:
    timeline = Timeline()
    links = bind(timeline, [0, 0], **server)
    leaving, staying = (links.transfer(i, "down", 1000) for i in (0, 1))
    moved: list[int] = []
    timeline.at(1.0).callbacks.append(lambda _: moved.append(leaving.abort()))
    assert fired(timeline, [staying]) == [1.5]
    assert moved == [500]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), limited=st.booleans())
def test_bytes_are_conserved_whatever_is_aborted(seed: int, limited: bool) -> None:
    """The cell is busy throughout, so what moved is its capacity times the time."""
    timeline, rng = Timeline(), np.random.default_rng(seed)
    server: dict[str, Any] = {"server_uplink": "2 kB/s"} if limited else {}
    links = bind(timeline, [0] * 20, **server)
    transfers = [links.transfer(i, "down", 100_000) for i in range(20)]
    moved = []
    for i, at in enumerate(np.sort(rng.uniform(0, 100, 20))):
        timeline.run(until=at)
        moved.append(transfers[i].abort())
    assert 0 <= 1000 * timeline.now - sum(moved) <= 20


@pytest.mark.parametrize("server", [{}, {"server_uplink": "700 B/s"}, {"initial_window": "1 kB"}])
def test_all_are_expected_as_each_in_its_cell_or_none(server: dict[str, Any]) -> None:
    links = bind(Timeline(), [-1, 0, 0, -1], **server, latency=0.5, bps=6100.0)
    each_s = [links.expected_s(device, "up", 999) for device in range(4)]
    assert links.all_expected_s(4, "up", 999).tolist() == each_s
    assert len(set(each_s)) == 2
    down_s = [links.expected_s(device, "down", 999) for device in range(4)]
    assert links.all_expected_s(4, "down", 999).tolist() == down_s


def test_a_cell_without_limits_changes_nothing() -> None:
    network = networks.parse({"name": "shared", "cells": {"mast": {}}})
    one = np.ones(1)
    links = network.bind(Timeline(), 8 * one, 8 * one, one, cells=np.zeros(1, dtype=np.int64))
    assert links.duration_s(0, "down", 3) == 4.0


def calls_per_transfer(n: int) -> float:
    """Return the work of each of `n` transfers that start together over twenty cells."""
    timeline, rng = Timeline(), np.random.default_rng(0)
    cells = {f"cell-{i}": {"downlink": "10 Mbit/s"} for i in range(20)}
    links = networks.parse({"server_uplink": "150 Mbit/s", "cells": cells}).bind(
        timeline, rng.lognormal(14, 1, n), np.ones(n), np.zeros(n), cells=np.arange(n) % 20
    )
    sizes = rng.integers(10**5, 10**6, n)

    def transfer_all() -> None:
        times = fired(timeline, [links.transfer(i, "down", int(sizes[i])) for i in range(n)])
        assert max(times) < math.inf

    return calls(transfer_all) / n


def test_many_transfers_over_cells_cost_little_more_than_few() -> None:
    """Work that grew with the number under way would be ten times as much."""
    assert calls_per_transfer(1000) < 2 * calls_per_transfer(100)


CAFE: dict[str, Any] = {
    "data": {"dataset": {"name": "synthetic", "clients": 4}},
    "model": "logistic_regression",
    "network": {"cells": {"cafe": {"downlink": "1 Mbit/s"}}},
    "rounds": {"clients": 2, "stop": {"rounds": 1}},
}


def test_a_run_meets_cells_traces_and_jitter(tmp_path: Path) -> None:
    """By hand: two download over a cell of half the rate, two beside it; uploads vary."""
    (tmp_path / "half.csv").write_text("time_s,factor\n0,0.5\n")
    scenario = Scenario.from_dict(
        {
            **CAFE,
            "network": {"cells": {"cafe": {"downlink": "1 Mbit/s", "rates": {"file": "half.csv"}}}},
            "fleet": [
                {"name": "in", "count": 2, "cell": "cafe", "downlink": "1 Gbit/s"},
                {
                    "name": "out",
                    "count": 2,
                    "downlink": "1 Mbit/s",
                    "uplink": "1 Mbit/s",
                    "link_jitter": {"sigma": 0.4},
                },
            ],
            "rounds": {"clients": 4, "stop": {"rounds": 1}},
        },
        folder=tmp_path,
    )
    [result] = run(scenario, tmp_path / "out", Options(time_only=True))
    rows = result.clients.sort_values("client")
    jitter = Jitter([VaryingGroup("in", 0, 0.0), VaryingGroup("out", 2, 0.4)], Seeds(0), "link")
    alone_s = 8 * float(rows.download_bytes.iloc[0]) / 1e6
    down = [4 * alone_s] * 2 + [alone_s / jitter.factor(device, "down") for device in (2, 3)]
    up = [0.0] * 2 + [alone_s / jitter.factor(device, "up") for device in (2, 3)]
    assert rows.download_end_s.tolist() == pytest.approx(down, rel=1e-9)
    assert (rows.upload_end_s - rows.compute_end_s).tolist() == pytest.approx(up, abs=1e-9)


def test_a_scenario_with_a_cell() -> None:
    scenario = Scenario.from_dict({**CAFE, "fleet": {"count": 4, "cell": "cafe"}})
    assert Scenario.from_dict(scenario.to_dict()) == scenario


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (CAFE["network"], "fleet[0].cell: the network has no cell 'caffe'; did you mean 'cafe'?"),
        ({}, "the network has no cell 'caffe'; it has no cells"),
        ({"cells": {"caffe": {"down": "1 Mbit/s"}}}, "network.cells.caffe.down: unknown key"),
        ({"cells": {"caffe": {"downlink": 5}}}, "data rate"),
    ],
)
def test_a_cell_that_is_not_there_or_wrong(network: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as told:
        Scenario.from_dict({**CAFE, "network": network, "fleet": {"count": 4, "cell": "caffe"}})
    assert words in str(told.value)
