"""Timers that nobody needs any more don't pile up, and change nothing."""

import gc
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest
import simpy

from simfl.sim.errand_process import ErrandProcess
from simfl.sim.server.settings import Stop
from simfl.sim.timeline import Timeline, Timer
from tests.sim.sim_world import ALWAYS, INF, make, make_fleet


def test_forgotten_timers_are_swept() -> None:
    timeline = Timeline()
    timers = []
    for _ in range(20_000):
        timer = timeline.deadline(1e9)
        timers.append(weakref.ref(timer))
        timeline.forget(timer)
    assert sum(timer() is not None for timer in timers) < 3000


def test_forgetting_changes_no_order() -> None:
    def happened(forgetful: bool) -> list[tuple[float, int]]:
        timeline = Timeline()
        seen: list[tuple[float, int]] = []

        def note(number: int, _: object) -> None:
            seen.append((timeline.now, number))

        for number in range(6000):
            timer = timeline.at(float(number * 7919 % 50))
            if number % 3:
                if forgetful:
                    timeline.forget(timer)
            else:
                timer.callbacks.append(partial(note, number))
        timeline.run()
        return seen

    assert len(happened(True)) == 2000
    assert happened(True) == happened(False)


def test_who_waits_for_a_far_return_leaves_no_timers_behind() -> None:
    """A tier that is away for very long looks again whenever another one is through."""
    sessions = [ALWAYS] * 8 + [[(0.0, 99.0), (1e9, INF)]] * 4
    policy = {"name": "tiered", "tiers": 3, "clients_per_tier": 4}
    fleet = make_fleet(12, [10] * 4 + [5] * 4 + [1] * 4, sessions=sessions)
    world = make(fleet, policy, stop=Stop(rounds=3000))
    timers = [each for each in gc.get_objects() if type(each) is Timer]
    assert len(world.rounds) == 3000
    assert sum(timer.env is world.server.timeline for timer in timers) < 2500


@pytest.mark.parametrize("network", ["shared", {"initial_window": "100 B"}])
@pytest.mark.parametrize("slow", ["rate", "uplink"])
def test_who_is_called_off_leaves_no_timers_behind(network: str | dict, slow: str) -> None:
    """Where each would have been at work for years."""
    policy = {"name": "synchronous", "deadline": "60 s"}
    fleet = make_fleet(100, **{"latency": 0.01, slow: 1e-7})
    world = make(fleet, policy, network=network, stop=Stop(rounds=20))
    timers = [each for each in gc.get_objects() if type(each) is Timer]
    assert world.outcomes == {"late": 2000}
    assert sum(timer.env is world.server.timeline for timer in timers) < 1500


def test_rounds_that_close_before_their_deadline_leave_no_timers_behind() -> None:
    """One a round, until the deadline that it had."""
    policy = {"name": "synchronous", "deadline": "1000000 s"}
    world = make(make_fleet(1), policy, clients=1, stop=Stop(rounds=1400))
    timers = [each for each in gc.get_objects() if type(each) is Timer]
    assert len(world.rounds) == 1400
    assert sum(timer.env is world.server.timeline for timer in timers) < 1200


def test_who_was_away_is_let_go_once_its_work_is_over() -> None:
    """Without a search for what only refers to itself, which is long in coming."""
    sessions = [[(0.0, 3.0), (5.0, 7.0), (9.0, INF)]] * 2
    fleet = make_fleet(2, [1.0, 0.5], sessions=sessions, on_offline="pause")
    gc.disable()
    try:
        world = make(fleet, {"name": "synchronous", "deadline": "20 s"}, stop=Stop(rounds=3))
        processes = [each for each in gc.get_objects() if type(each) is ErrandProcess]
    finally:
        gc.enable()
    assert world.outcomes == {"arrived": 5, "late": 1}
    assert not [each for each in processes if each.env is world.server.timeline]


def test_a_timer_that_fired_can_be_forgotten() -> None:
    timeline = Timeline()
    timer = timeline.at(1.0)
    waiting = simpy.events.AnyOf(timeline, [timer])
    timeline.run(until=waiting)
    timeline.forget(timer)
    assert timer.processed


def test_what_happens_without_the_queue_comes_when_the_queue_would_give_it() -> None:
    def seen(others_s: list[float], queued: bool) -> list[str]:
        timeline = Timeline()
        order: list[str] = []

        def end(_: object) -> None:
            order.append("ends")
            event.succeed() if queued else timeline.happen(event)

        event = simpy.Event(timeline)
        event.callbacks.append(lambda _: order.append(f"happens at {timeline.now}"))
        timeline.at(5.0).callbacks.append(end)
        for other_s in others_s:
            timeline.at(other_s).callbacks.append(lambda _: order.append("other"))
            timeline.deadline(other_s).callbacks.append(lambda _: order.append("deadline"))
        timeline.run()
        assert event.processed
        assert event.ok
        return order

    for others_s in ([], [5.0], [4.0, 6.0], [5.0, 5.0]):
        assert seen(others_s, queued=False) == seen(others_s, queued=True)


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        # Two begin to move, two have moved, one has computed: nothing else needs the queue.
        ("synchronous", 5.3),
        # The server looks up and looks at who is back; who is sent next begins.
        ({"name": "fedbuff", "buffer": 50}, 9.0),
    ],
)
def test_a_participation_takes_few_events(
    monkeypatch: pytest.MonkeyPatch, policy: Any, most: float
) -> None:
    step, steps = Timeline.step, 0

    def counted(timeline: Timeline) -> None:
        nonlocal steps
        steps += 1
        step(timeline)

    monkeypatch.setattr(Timeline, "step", counted)
    fleet = make_fleet(50, np.arange(1, 51), 1e4, 1e4, latency=np.arange(1, 51) / 7)
    network = {"name": "shared", "server_downlink": "1 Gbit/s", "server_uplink": "1 Gbit/s"}
    world = make(fleet, policy, network=network, stop=Stop(rounds=4))
    assert world.outcomes["arrived"] == 200
    assert steps < most * 200
