"""A network that is asked for orders and updates: closed forms of the waiting."""

import numpy as np
import pytest

from simfl.sim.networks.base import Direction, Links, Transfer, networks
from simfl.sim.timeline import Timeline

SIZE = 1000
"""Takes one second down and two seconds up."""


def bind(**options: object) -> tuple[Timeline, Links]:
    timeline = Timeline()
    network = networks.parse({"name": "shared", "polling": "3 s", **options})
    down = np.full(2, 8.0 * SIZE)
    return timeline, network.bind(timeline, down, down / 2, np.zeros(2))


def begin(timeline: Timeline, links: Links, at_s: float, way: Direction) -> Transfer:
    timeline.run(until=timeline.at(at_s))
    return links.transfer(0, way, SIZE)


def end_s(timeline: Timeline, transfer: Transfer) -> float:
    timeline.run(until=transfer)
    return timeline.now


def test_a_device_asks_every_interval_since_it_sent_and_a_server_since_it_gave_orders() -> None:
    timeline, links = bind()
    order = begin(timeline, links, 1.0, "down")
    assert end_s(timeline, order) == pytest.approx(3 + 1)  # device 0 asks at 0, 3, ...
    update = begin(timeline, links, 4.5, "up")  # lands at 6.5
    assert end_s(timeline, update) == pytest.approx(7)  # the server looks at 1, 4, 7, ...
    order = begin(timeline, links, 7.0, "down")
    assert end_s(timeline, order) == pytest.approx(9.5 + 1)  # the device asks at 6.5, 9.5, ...


def test_devices_that_have_sent_nothing_do_not_all_ask_at_once() -> None:
    timeline, links = bind()
    orders = [links.transfer(device, "down", SIZE) for device in (0, 1)]
    first, second = (end_s(timeline, order) for order in orders)
    assert first == pytest.approx(1)
    assert 1 < second < 3 + 1


def test_who_is_called_off_while_waiting_has_moved_nothing_and_after_landing_everything() -> None:
    timeline, links = bind()
    waiting = begin(timeline, links, 0.5, "down")
    timeline.run(until=timeline.at(2.0))
    assert waiting.abort() == 0
    landed = begin(timeline, links, 2.0, "up")  # ordered at 0.5: looked for at 6.5
    timeline.run(until=timeline.at(5.0))
    assert landed.abort() == SIZE
    timeline.run()
    assert not waiting.triggered
    assert not landed.triggered


def test_planning_does_not_count_on_waiting_and_protocols_still_take_time() -> None:
    timeline, links = bind(overhead="10%")
    assert links.expected_s(0, "down", SIZE) == pytest.approx(1.1)
    assert links.duration_s(0, "down", SIZE) is None
    assert not links.lone
    assert end_s(timeline, links.transfer(0, "down", SIZE)) == pytest.approx(1.1)
