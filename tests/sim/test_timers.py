"""Timers that nobody needs any more don't pile up, and change nothing."""

import weakref
from functools import partial

import simpy

from simfl.sim.timeline import Timeline


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


def test_a_timer_that_fired_can_be_forgotten() -> None:
    timeline = Timeline()
    timer = timeline.at(1.0)
    waiting = simpy.events.AnyOf(timeline, [timer])
    timeline.run(until=waiting)
    timeline.forget(timer)
    assert timer.processed
