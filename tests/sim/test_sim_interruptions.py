"""Going offline interrupts download, compute or upload at that very instant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.fleet import Power
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import INF, FakeCoordinator, lowest, make, make_fleet

# One device: download 0-2 s (latency 1 s, then 1000 B at 8 kbit/s), compute 2-12 s, upload 12-14 s.
SHAPE = {"rate": 1.0, "downlink": 8000, "uplink": 8000, "latency": 1.0}
POWER = Power(download=1, compute=10, upload=100)


def one(leaves, returns=INF, on_offline="abort", network="shared", **options):
    sessions = [[(0.0, leaves)] + ([(returns, INF)] if returns < INF else [])]
    fleet = make_fleet(1, **SHAPE, sessions=sessions, on_offline=on_offline, power=POWER)
    return make(fleet, network=network, **options)


@pytest.mark.parametrize(
    "network", ["shared", {"server_uplink": "1 Gbit/s", "server_downlink": "1 Gbit/s"}]
)
@pytest.mark.parametrize(
    ("leaves", "down", "up", "phases"),
    [
        (0.5, 0, 0, (0.5, 0, 0)),  # still waiting for the first byte
        (1.25, 250, 0, (1.25, 0, 0)),
        (2.0, 1000, 0, (2, 0, 0)),  # what ends as it leaves has ended
        (7.0, 1000, 0, (2, 5, 0)),
        (12.0, 1000, 0, (2, 10, 0)),
        (13.5, 1000, 500, (2, 10, 1.5)),
    ],
)
def test_abort_loses_the_work_at_that_instant(network, leaves, down, up, phases):
    world = one(leaves, network=network)
    (row,) = world.clients
    assert (row.outcome, row.download_bytes, row.upload_bytes) == ("offline", down, up)
    assert row.energy_j == pytest.approx(np.dot(phases, (1, 10, 100)))
    assert world.rounds[0].end_s == leaves
    assert world.rounds[0].wasted_bytes == down + up
    assert world.times("offline") == [leaves]
    assert world.coordinator.computed == []


@pytest.mark.parametrize("server", ["unlimited", "1 Gbit/s"])
@pytest.mark.parametrize(("leaves", "down", "up"), [(1.5, 250, 0), (15.375, 1000, 687)])
def test_of_messages_broken_off_the_models_share_is_booked(server, leaves, down, up):
    """Another 1000 B a message: a transfer moves bytes for two seconds, until 3 s and 16 s."""
    links = {"message_overhead": "1 kB", "server_uplink": server, "server_downlink": server}
    (row,) = one(leaves, network=links).clients
    assert (row.outcome, row.download_bytes, row.upload_bytes) == ("offline", down, up)


def test_an_upload_that_ends_as_its_device_leaves_has_arrived():
    assert one(14.0).outcomes == {"arrived": 1}
    assert one(np.nextafter(14.0, 0)).outcomes == {"offline": 1}


@pytest.mark.parametrize(
    ("leaves", "end"),
    [
        (1.25, 100 + 1 + 0.75 + 10 + 2),  # the other 750 bytes, and latency again
        (7.0, 100 + 5 + 2),
        (13.5, 100 + 1 + 0.5),
    ],
)
def test_pause_goes_on_where_it_stopped(leaves, end):
    world = one(leaves, 100, "pause")
    (row,) = world.clients
    assert (row.outcome, row.upload_end_s) == ("arrived", end)
    assert (row.download_bytes, row.upload_bytes, row.steps) == (1000, 1000, 2)
    assert world.times("offline") == [leaves]
    assert world.times("online") == [100]
    away = 100 - leaves
    extra = 1 if leaves != 7.0 else 0  # the second latency
    spent = {"down": 2 + extra * (leaves < 2), "up": 2 + extra * (leaves > 12)}
    assert row.energy_j == pytest.approx(spent["down"] * 1 + 10 * 10 + spent["up"] * 100)
    assert end == pytest.approx(14 + away + extra)


def test_pausing_for_good_is_leaving():
    assert one(7.0, INF, "pause").outcomes == {"offline": 1}


def test_pause_again_and_again():
    sessions = [[(0.0, 3.0), (4.0, 5.0), (6.0, 7.5), (20.0, INF)]]
    fleet = make_fleet(1, **SHAPE, sessions=sessions, on_offline="pause")
    (row,) = make(fleet).clients
    assert row.compute_end_s == 20 + (10 - 1 - 1 - 1.5)
    assert row.upload_end_s == row.compute_end_s + 2


def test_salvage_keeps_exactly_the_finished_steps():
    """Batches of 5 at 1 sample/s end at 7 s and 12 s."""
    for leaves, steps in [(6.9, 0), (7.0, 1), (11.9, 1), (12.0, 2)]:
        world = one(leaves, 100, "salvage")
        (row,) = world.clients
        if not steps:
            assert row.outcome == "offline"
            continue
        assert (row.outcome, row.steps) == ("arrived", steps)
        assert row.upload_end_s == 102
        ((arrival,),) = world.coordinator.arrivals
        assert arrival.order.plan.stop_after == (steps if leaves < 12 else None)


def test_salvage_loses_a_download_but_not_an_upload():
    assert one(1.25, 100, "salvage").outcomes == {"offline": 1}
    world = one(13.5, 100, "salvage")
    assert world.clients[0].upload_end_s == 101.5
    assert world.clients[0].steps == 2


def test_measurements_before_training_are_not_salvaged_as_steps():
    # 10/3 units of measuring come first: at 7 s only 5 - 10/3 units are trained.
    for leaves, steps in [(7.0, 0), (2 + 10 / 3 + 5 + 1e-9, 1)]:
        world = one(leaves, 100, "salvage", wants=("loss",))
        assert world.clients[0].outcome == ("arrived" if steps else "offline")


def test_salvaged_work_that_comes_too_late_is_dropped():
    world = one(8.0, 100, "salvage", policy={"name": "synchronous", "deadline": "50 s"})
    assert world.outcomes == {"late": 1}
    assert world.coordinator.computed == []


def test_the_deadline_interrupts_each_phase():
    for deadline, down, up in [(0.5, 0, 0), (1.25, 250, 0), (7, 1000, 0), (13.5, 1000, 500)]:
        world = one(INF, policy={"name": "synchronous", "deadline": f"{deadline} s"})
        (row,) = world.clients
        assert (row.outcome, row.download_bytes, row.upload_bytes) == ("late", down, up)
        assert world.rounds[0].end_s == deadline


@pytest.mark.parametrize("on_offline", ["abort", "pause", "salvage"])
@pytest.mark.parametrize("server", ["unlimited", "1 Gbit/s"])
@pytest.mark.parametrize("instant", [0.5, 1.25, 7.0, 13.5])
def test_who_leaves_at_the_very_deadline_is_late(on_offline, server, instant):
    links = {"server_uplink": server, "server_downlink": server}
    policy = {"name": "synchronous", "deadline": f"{instant} s"}
    world = one(instant, 100, on_offline, links, policy=policy)
    assert world.outcomes == {"late": 1}
    assert world.rounds[0].end_s == instant


def test_whoever_is_called_off_while_away_is_late():
    world = one(7.0, 100, "pause", policy={"name": "synchronous", "deadline": "50 s"})
    assert world.outcomes == {"late": 1}
    assert world.rounds[0].end_s == 50


def test_a_client_paused_for_long_is_not_chosen_meanwhile():
    sessions = [[(0.0, 5.0), (40.0, INF)], [(0.0, INF)]]
    fleet = make_fleet(2, 1.0, sessions=sessions, on_offline="pause")
    policy = {"name": "synchronous", "deadline": "15 s", "late": "carry"}
    world = make(fleet, policy, clients=2, stop=Stop(rounds=4))
    assert [ids for _, ids in world.selections] == [[0, 1], [1], [1], [1]]
    (stale,) = [row for row in world.clients if row.client == 0]
    assert (stale.outcome, stale.staleness, stale.upload_end_s) == ("arrived", 3, 45.0)
    assert world.rounds[3].end_s == 45


@settings(max_examples=80)
@given(
    cuts=st.lists(st.floats(0.01, 30), min_size=1, max_size=6, unique=True),
    mode=st.sampled_from(["abort", "pause", "salvage"]),
    network=st.sampled_from(
        [
            "shared",
            {"message_overhead": "300 B"},
            {"server_uplink": "6 kbit/s", "server_downlink": "6 kbit/s"},
        ]
    ),
)
def test_whatever_happens_the_books_balance(cuts, mode, network):
    """Any pattern of sessions: time, bytes and units spent never exceed what time allowed."""
    edges = [0.0, *sorted(cuts)]
    sessions = [list(zip(edges[::2], [*edges[1::2], INF], strict=False)), [(0.0, INF)]]
    fleet = make_fleet(2, **SHAPE, sessions=sessions, on_offline=mode, power=POWER)
    world = make(fleet, network=network, stop=Stop(rounds=3, time_s=200.0))
    for row in world.clients:
        assert 0 <= row.download_bytes <= 1000
        assert 0 <= row.upload_bytes <= 1000
        if row.outcome == "arrived":
            assert row.download_bytes == row.upload_bytes == 1000
            ends = [row.download_end_s, row.compute_end_s, row.upload_end_s]
            times = [row.selected_s, *(end for end in ends if end is not None)]
            assert len(times) == 4
            assert times == sorted(times)


def test_the_same_without_a_network_of_its_own():
    """A fleet whose links nobody shares behaves the same on a shared line that is never full."""
    coordinator = FakeCoordinator(lowest)
    sessions = [[(0.0, 9.0), (11.0, INF)], [(0.0, 3.0), (5.0, INF)]]
    fleet = make_fleet(2, **SHAPE, sessions=sessions, on_offline="pause")
    alone = make(fleet, stop=Stop(rounds=3))
    wide = {"server_uplink": "1 Gbit/s", "server_downlink": "1 Gbit/s"}
    shared = make(fleet, stop=Stop(rounds=3), network=wide, coordinator=coordinator)
    for mine, theirs in zip(alone.clients, shared.clients, strict=True):
        assert mine.upload_end_s == pytest.approx(theirs.upload_end_s, rel=1e-12)
        assert mine.outcome == theirs.outcome
