"""What it costs to ask: bytes, time and joules, to the last byte; and who answers."""

from functools import partial

import numpy as np
import pytest

from simfl.components.selectors.base import Probe
from simfl.sim.fleet import Power
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, lowest, make, make_fleet

LINKS = {"downlink": 8000, "uplink": 8000}
POWER = Power(download=1, compute=10, upload=100)


def asking(*probes, choose=lowest):
    return FakeCoordinator(
        choose, probes=[partial(lambda probe, view: probe, probe) for probe in probes]
    )


def probed(world):
    return [facts for _, kind, facts in world.events if kind == "probed"]


@pytest.mark.parametrize(
    ("report", "units", "answer"),
    [
        ("loss", 4 / 3, 4),  # a forward pass over the 4 validation samples
        ("fc1_profile", 10 / 3, 80),
        ("gradient", 10, 1000),
        ("update", 20, 600),
        ("trial", 20, 600),
    ],
)
def test_a_probe_is_a_download_some_compute_and_an_answer(report, units, answer):
    fleet = make_fleet(2, [1.0, 2.0], **LINKS, latency=0.5, validation=4, power=POWER)
    coordinator = asking(Probe(report, np.array([0, 1])))
    world = make(
        fleet, epochs=2, coordinator=coordinator, update_bytes=600, profile_bytes=80,
    )  # fmt: skip
    took = [(0.5 + 1) + units / rate + (0.5 + answer / 1000) for rate in (1.0, 2.0)]
    (reports,) = coordinator.answers
    assert reports.durations_s.tolist() == pytest.approx(took)
    assert world.selections[0][0] == pytest.approx(max(took))
    (facts,) = probed(world)
    assert facts["bytes"] == world.rounds[0].probe_bytes == 2 * (1000 + answer)
    spent = 2 * 1.5 * 1 + 10 * units * 1.5 + 2 * (0.5 + answer / 1000) * 100
    assert facts["energy_j"] == pytest.approx(spent)


def test_without_validation_samples_the_loss_is_that_of_the_training_samples():
    coordinator = asking(Probe("loss", np.array([0])))
    make(make_fleet(1), coordinator=coordinator)
    assert coordinator.answers[0].durations_s[0] == pytest.approx(10 / 3)


def test_a_probe_on_a_mini_batch_costs_a_mini_batch():
    coordinator = asking(Probe("loss", np.array([0, 1]), samples=6))
    make(make_fleet(2, samples=[4, 60]), coordinator=coordinator)
    assert coordinator.answers[0].durations_s == pytest.approx([4 / 3, 2])


def test_a_broadcast_is_not_paid_twice():
    """Who got the model with a probe need not download it to train; a new model it must."""
    coordinator = asking(Probe("loss", np.array([0, 1])), Probe("loss", np.array([0])))
    world = make(make_fleet(3, **LINKS), coordinator=coordinator, clients=3, stop=Stop(rounds=2))
    assert [facts["bytes"] for facts in probed(world)[:2]] == [2 * 1004, 4]
    downloads = {(row.round, row.client): row.download_bytes for row in world.clients}
    assert downloads == {(r, c): 1000 if c == 2 else 0 for r in (1, 2) for c in (0, 1, 2)}
    assert world.server.state.version == 2


def test_a_trial_model_is_another_model():
    """Measuring at the trial model takes a download, which is no model to train from."""
    trial = Probe("trial", np.array([0]))
    measure = Probe("loss", np.array([0, 1]), model="trial")
    world = make(make_fleet(2, **LINKS), coordinator=asking(trial, measure))
    assert [facts["bytes"] for facts in probed(world)] == [1000 + 1000, 2 * 1004]
    assert [row.download_bytes for row in world.clients] == [0, 1000]


def test_who_is_offline_is_not_asked_and_who_leaves_does_not_answer():
    sessions = [ALWAYS, [(0.0, 2.0)], [(5.0, INF)]]
    fleet = make_fleet(3, **LINKS, sessions=sessions)
    coordinator = asking(Probe("loss", np.array([2, 1, 0])))
    world = make(fleet, min_clients=1, coordinator=coordinator)
    assert coordinator.answers[0].clients.tolist() == [0]
    (facts,) = probed(world)
    assert facts["answered"] == [0]
    assert facts["bytes"] == 1004 + 1000  # 0 and, in vain, 1


def test_nobody_can_be_asked():
    fleet = make_fleet(2, sessions=[ALWAYS, [(50.0, INF)]])
    world = make(fleet, min_clients=1, coordinator=asking(Probe("loss", np.array([1]))))
    assert probed(world)[0]["answered"] == []
    assert world.selections == [(0, [0])]


def test_free_probes_cost_nothing_but_still_need_somebody_there():
    fleet = make_fleet(3, **LINKS, sessions=[ALWAYS, ALWAYS, [(50.0, INF)]], power=POWER)
    coordinator = asking(Probe("update", np.arange(3)), Probe("loss", np.arange(3)))
    world = make(fleet, min_clients=1, coordinator=coordinator, charge_probes=False)
    assert [reports.clients.tolist() for reports in coordinator.answers] == [[0, 1], [0, 1]]
    assert world.selections[0][0] == 0
    assert world.rounds[0].probe_bytes == 0
    assert [row.download_bytes for row in world.clients] == [1000, 1000]


def test_a_probe_cut_off_by_the_end_of_the_run_is_booked():
    fleet = make_fleet(2, **LINKS, power=POWER)
    coordinator = asking(Probe("loss", np.arange(2)))
    world = make(fleet, coordinator=coordinator, stop=Stop(time_s=2.0))
    (facts,) = probed(world)
    assert facts["bytes"] == world.server.accounting.total_bytes == 2000
    assert facts["energy_j"] == 2 * (1 * 1 + 1 * 10)
    assert world.selections == []


@pytest.mark.parametrize("policy", ["fedasync", {"name": "tiered", "tiers": 2}])
def test_nobody_is_at_work_and_asked_at_the_same_time(policy):
    def everybody(view):
        return Probe("loss", view.available)

    coordinator = FakeCoordinator(probes=[everybody])
    world = make(
        make_fleet(6, [1, 2, 3, 4, 5, 6]), policy, clients=4, coordinator=coordinator,
        stop=Stop(rounds=12),
    )  # fmt: skip
    busy: dict[int, str] = {}
    for _, kind, facts in world.events:
        if kind == "dispatched":
            assert facts["client"] not in busy
            busy[facts["client"]] = "work"
        elif kind == "uploaded":
            busy.pop(facts["client"], None)
        elif kind == "probe":
            for client in facts["asked"]:
                assert client not in busy
                busy[client] = "question"


def test_what_participants_measure_is_charged():
    world = make(make_fleet(1, **LINKS, validation=6), wants=("loss", "squared_loss", "gradient"))
    (row,) = world.clients
    assert row.download_end_s is not None
    assert row.compute_end_s is not None
    assert row.compute_end_s - row.download_end_s == pytest.approx(10 + 6 / 3 + 10)
    assert row.upload_bytes == 1000 + 4 + 4 + 1000


@pytest.mark.parametrize(("rate", "download"), [(2.0, 1000), (0.5, 0)])
def test_a_model_that_was_replaced_while_it_was_asked_about_is_downloaded_again(rate, download):
    """Device 2 is asked from 32/3 s to 55/3 s; with rate 2 device 1 is aggregated meanwhile."""
    choices = iter([[0, 1], [2]])
    coordinator = FakeCoordinator(
        lambda view, reports, k: next(choices, view.available[:k]),
        probes=[lambda view: Probe("loss", np.array([2]))],
    )
    fleet = make_fleet(3, [10.0, rate, 0.5], **LINKS)
    stop = Stop(time_s=40.0)
    world = make(fleet, "fedasync", clients=2, coordinator=coordinator, stop=stop)
    (row,) = [row for row in world.clients if row.client == 2]
    assert row.selected_s == pytest.approx(1 + 20 / 3 + 0.004 + 3 + 1 + 20 / 3 + 0.004)
    assert row.download_bytes == download


def test_the_run_ends_while_a_tier_waits_for_those_who_left_while_being_asked():
    """Device 0 leaves while it is asked; device 1, of the other tier, makes the only round."""
    fleet = make_fleet(2, [1.0, 2.0], sessions=[[(0.0, 1.0), (500.0, INF)], ALWAYS])
    coordinator = FakeCoordinator(probes=[lambda view: Probe("loss", view.available)])
    policy = {"name": "tiered", "tiers": 2}
    world = make(fleet, policy, coordinator=coordinator)
    assert [facts["answered"] for facts in probed(world)] == [[], [1]]
    ((selected_s, clients),) = world.selections
    assert selected_s == pytest.approx(10 / 3 / 2)
    assert clients == [1]
    assert world.outcomes == {"arrived": 1}


@pytest.mark.parametrize(
    ("on_offline", "leaves_s", "answered_s"),
    [
        ("abort", 5.0, None),
        ("pause", 5.0, [51.0 + 10 - 4 + 1]),
        ("salvage", 5.0, [51.0 + 10 - 4 + 1]),  # nothing of an answer is finished before its end
        ("pause", 0.5, [51.0 + 0.5 + 10 + 1]),
        ("salvage", 0.5, None),  # as of a participation, a download is lost
    ],
)
def test_who_leaves_while_it_answers_goes_on_unless_its_group_aborts(
    on_offline: str, leaves_s: float, answered_s: list[float] | None
) -> None:
    """A probe has no steps to be salvaged."""
    sessions = [[(0.0, leaves_s), (51.0, INF)], [(0.0, INF)]]
    fleet = make_fleet(2, sessions=sessions, on_offline=on_offline, downlink=8000, uplink=8000)
    coordinator = asking(Probe("gradient", np.array([0])))
    make(fleet, coordinator=coordinator, stop=Stop(rounds=1))
    durations_s = coordinator.answers[0].durations_s.tolist()
    assert durations_s == (pytest.approx(answered_s) if answered_s else [])
