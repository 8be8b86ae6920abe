"""Virtual time against closed forms, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.server.deadlines import percentile
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import FakeCoordinator, make, make_fleet

positive = st.floats(1e-3, 1e6, allow_nan=False)


@settings(max_examples=60)
@given(
    rate=positive, down=positive, up=positive, latency=st.floats(0, 100), samples=st.integers(1, 99)
)
def test_a_round_of_one_device(rate, down, up, latency, samples):
    fleet = make_fleet(1, rate, down, up, latency, samples)
    world = make(fleet, epochs=3, model_bytes=1000, update_bytes=700)
    downloaded = latency + 8 * 1000 / down
    computed = downloaded + 3 * samples / rate
    uploaded = computed + (latency + 8 * 700 / up)
    (row,) = world.clients
    assert (row.download_end_s, row.compute_end_s, row.upload_end_s) == (
        downloaded,
        computed,
        uploaded,
    )
    assert world.rounds[0].end_s == world.rounds[0].last_arrival_s == uploaded


def test_the_second_round_takes_as_long_as_the_first():
    world = make(make_fleet(1, 3.0, 1e4, 1e4, 0.1, 10), stop=Stop(rounds=3))
    ends = [row.end_s for row in world.rounds]
    assert np.diff([0, *ends]) == pytest.approx([ends[0]] * 3, rel=1e-12)


@settings(max_examples=30)
@given(data=st.data(), n=st.integers(1, 8))
def test_a_synchronous_round_takes_the_maximum(data, n):
    rates = data.draw(st.lists(positive, min_size=n, max_size=n))
    sizes = data.draw(st.lists(st.integers(1, 50), min_size=n, max_size=n))
    fleet = make_fleet(n, rates, 1e4, 1e3, 0.25, sizes)
    world = make(fleet)
    alone = [make(make_fleet(1, rates[i], 1e4, 1e3, 0.25, sizes[i])) for i in range(n)]
    assert world.rounds[0].end_s == max(one.rounds[0].end_s for one in alone)
    assert np.max(world.server.nominal_round_s()) == world.rounds[0].end_s


def test_an_upload_that_lands_exactly_on_the_deadline_counts():
    # 10 samples at 0.1 samples/s and two transfers of 0.3 s and 0.7 s.
    for rate in (0.1, 0.3, 1 / 3, 7.7):
        fleet = make_fleet(2, [rate, rate * (1 - 1e-9)], 8000 / 0.3, 8000 / 0.7, 0.1)
        (ends, _) = make(make_fleet(2, rate, 8000 / 0.3, 8000 / 0.7, 0.1)).clients
        world = make(fleet, {"name": "synchronous", "deadline": f"{ends.upload_end_s!r} s"})
        assert [row.outcome for row in world.clients] == ["late", "arrived"]
        assert world.rounds[0].end_s == ends.upload_end_s


def test_straggler_deadlines_tie_exactly_with_the_device_they_are_taken_from():
    """Wherever interpolation hits a device, that device is in time, and nobody slower is."""
    rng = np.random.default_rng(1)
    for _ in range(2500):
        n, late = int(rng.integers(2, 60)), 0
        # (1 - s)(n - 1) is whole: the percentile is one device's own time.
        late = int(rng.integers(0, n - 1))
        share = late / (n - 1)
        times = rng.uniform(0.1, 100, n)
        deadline = percentile(times, 1 - share)
        assert deadline in times
        assert int((times > deadline).sum()) == late


def test_straggler_deadlines_tie_in_the_simulation():
    rng = np.random.default_rng(2)
    for case in range(150):
        n = int(rng.integers(2, 12))
        late = int(rng.integers(0, n - 1))
        fleet = make_fleet(
            n,
            rng.uniform(0.1, 9, n),
            rng.uniform(1e3, 1e5, n),
            rng.uniform(1e3, 1e5, n),
            rng.uniform(0, 1, n),
            rng.integers(1, 40, n),
        )
        policy = {"name": "synchronous", "deadline": {"stragglers": late / (n - 1)}}
        world = make(fleet, policy, epochs=int(rng.integers(1, 4)), seed=case, stop=Stop(rounds=2))
        assert world.outcomes == {"arrived": 2 * (n - late)} | ({"late": 2 * late} if late else {})


@pytest.mark.parametrize("share", ["10%", "30%", "100%", "0%"])
def test_nobody_is_late_where_all_are_alike(share):
    world = make(
        make_fleet(7, 1 / 3, 1e4, 3e3, 0.07, 11),
        {"name": "synchronous", "deadline": {"stragglers": share}},
    )
    assert world.outcomes == {"arrived": 7}


def test_the_percentile_is_that_of_numpy():
    rng = np.random.default_rng(3)
    for _ in range(200):
        values, share = rng.lognormal(size=int(rng.integers(1, 40))), rng.random()
        assert percentile(values, share) == pytest.approx(
            np.percentile(values, 100 * share), rel=1e-12
        )


def test_devices_without_samples_do_not_count_in_the_deadline():
    fleet = make_fleet(4, [1, 1, 1, 1e-6], samples=[10, 10, 20, 0])
    world = make(fleet, {"name": "synchronous", "deadline": {"stragglers": "0%"}}, clients=4)
    assert world.rounds[0].deadline_s == 20
    assert world.outcomes == {"arrived": 3}


def test_the_server_s_own_link_counts_in_the_deadline():
    # One at a time: the server's 4 kbit/s are narrower than the devices' 8 kbit/s.
    fleet = make_fleet(3, 1.0, 8000, 8000, 0.5)
    world = make(
        fleet,
        {"name": "synchronous", "deadline": {"stragglers": "0%"}},
        clients=1,
        network={"name": "shared", "server_uplink": "4 kbit/s", "server_downlink": "4 kbit/s"},
        coordinator=FakeCoordinator(lambda view, reports, k: [1]),
    )
    assert world.rounds[0].deadline_s == 0.5 + 2 + 10 + 0.5 + 2
    assert world.outcomes == {"arrived": 1}


def test_steps_are_counted_in_the_samples_they_take():
    # 12 samples in batches of 5: steps of 5, 5, 2, 5.
    world = make(make_fleet(1, 1.0, samples=12), steps=4)
    assert world.clients[0].upload_end_s == 17
    assert world.clients[0].steps == 4


def test_partial_work_fits_the_deadline_exactly():
    fleet = make_fleet(3, [1.0, 0.5, 0.1], samples=10)
    world = make(
        fleet,
        {"name": "synchronous", "deadline": "40 s"},
        workload="partial_epochs",
        epochs=4,
    )
    assert [(row.outcome, row.steps) for row in world.clients] == [
        ("skipped", 0),
        ("arrived", 8),
        ("arrived", 4),
    ]
    assert world.rounds[0].end_s == 40


def test_the_server_s_own_time_comes_after_the_last_arrival():
    world = make(
        make_fleet(2, [1.0, 2.0]),
        {"name": "synchronous", "server_time": "3 s"},
        stop=Stop(rounds=2),
    )
    assert [row.end_s for row in world.rounds] == [13, 26]
    assert [row.last_arrival_s for row in world.rounds] == [10, 23]
