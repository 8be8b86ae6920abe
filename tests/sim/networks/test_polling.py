"""A network that is asked for orders and updates: closed forms of the waiting."""

import numpy as np
import pytest

from simfl.sim.networks.base import Direction, Links, Transfer, networks
from simfl.sim.timeline import Timeline
from tests.counting import calls

SIZE = 1000
"""Takes one second down and two seconds up."""


def bind(latency_s: float = 0.0, **options: object) -> tuple[Timeline, Links]:
    timeline = Timeline()
    network = networks.parse({"name": "shared", "polling": "3 s", **options})
    down = np.full(2, 8.0 * SIZE)
    return timeline, network.bind(timeline, down, down / 2, np.full(2, latency_s))


def begin(timeline: Timeline, links: Links, at_s: float, way: Direction) -> Transfer:
    timeline.run(until=timeline.at(at_s))
    if way == "down":
        links.order(0)
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
    landed = begin(timeline, links, 3.75, "up")  # ordered at 0.5: looked for at 6.5
    timeline.run(until=timeline.at(6.0))
    assert landed.abort() == SIZE
    timeline.run()
    assert not waiting.triggered
    assert not landed.triggered


@pytest.mark.parametrize(
    ("begins_s", "latency_s", "counts_s"),
    [
        (2.5, 0.0, 3 + 1 + 2),  # asked for at 3, 4 and 6; it lands at 4.5
        (1.5, 0.0, 3 + 1),  # asked for at 3 and 4; it lands at 3.5
        (2.5, 0.75, 6),  # not announced before 3.25, it lands at 5.25
    ],
)
def test_a_look_waits_for_an_update_on_its_way_and_asks_again_ever_later(
    begins_s: float, latency_s: float, counts_s: float
) -> None:
    timeline, links = bind(latency_s)
    update = begin(timeline, links, begins_s, "up")
    assert end_s(timeline, update) == pytest.approx(counts_s)


def test_nothing_that_a_look_has_found_counts_before_all_has_come_and_the_next_is_later() -> None:
    timeline, links = bind()
    timeline.run(until=timeline.at(0.5))
    done = links.transfer(0, "up", SIZE)  # lands at 2.5, found at 3
    timeline.run(until=timeline.at(1.5))
    coming = links.transfer(1, "up", SIZE)  # lands at 3.5, found at 3 and had at 4
    timeline.run(until=timeline.at(3.75))
    late = links.transfer(0, "up", SIZE)  # lands at 5.75; the next look is at 7
    ends = [end_s(timeline, update) for update in (done, coming, late)]
    assert ends == pytest.approx([4, 4, 7])


def test_an_update_that_is_called_off_is_not_waited_for() -> None:
    timeline, links = bind()
    timeline.run(until=timeline.at(2.5))
    update = links.transfer(0, "up", SIZE)
    timeline.run(until=timeline.at(3.5))
    assert update.abort() == SIZE // 2
    timeline.run()
    assert timeline.now < 6  # when it would be asked for again
    assert not update.triggered


def test_a_download_that_goes_on_later_is_no_order_and_postpones_no_look() -> None:
    timeline, links = bind()
    update = begin(timeline, links, 0.5, "up")  # lands at 2.5
    timeline.run(until=timeline.at(2.75))
    links.transfer(1, "down", SIZE)  # device 1 is back, and asks once more
    assert end_s(timeline, update) == pytest.approx(3)


def test_orders_that_are_given_while_an_update_waits_postpone_no_look() -> None:
    timeline, links = bind()
    update = begin(timeline, links, 0.5, "up")
    for at_s in (1.0, 2.75):
        begin(timeline, links, at_s, "down")
    assert end_s(timeline, update) == pytest.approx(3)
    update = begin(timeline, links, 3.5, "up")
    timeline.run(until=timeline.at(4.0))
    update.abort()  # nobody waits for that one any more
    begin(timeline, links, 4.0, "down")
    later = begin(timeline, links, 4.25, "up")  # lands at 6.25
    assert end_s(timeline, later) == pytest.approx(7)


def test_edge_servers_look_each_for_the_updates_of_their_own_devices() -> None:
    timeline, links = bind()
    links.separate([np.array([0]), np.array([1])])
    timeline.run(until=timeline.at(0.25))
    links.order(1)  # the other server's, which looks at 3.25
    update = begin(timeline, links, 0.5, "up")  # lands at 2.5
    timeline.run(until=timeline.at(2.75))
    others = links.transfer(1, "up", SIZE)  # lands at 4.75, asked for at 3.25, 4.25 and 6.25
    assert end_s(timeline, update) == pytest.approx(3)
    assert end_s(timeline, others) == pytest.approx(6.25)


def test_orders_after_many_updates_that_were_called_off_before_a_look_are_as_cheap() -> None:
    """All of them were gone through at each order, and no look ever took them away."""
    timeline, links = bind()

    def orders() -> None:
        for _ in range(50):
            links.order(0)
            update = begin(timeline, links, timeline.now + 0.3, "up")
            timeline.run(until=timeline.at(timeline.now + 0.4))
            update.abort()

    first, *_, last = [calls(orders) for _ in range(5)]
    assert last < 1.1 * first


def test_planning_does_not_count_on_waiting_and_protocols_still_take_time() -> None:
    timeline, links = bind(overhead="10%")
    assert links.expected_s(0, "down", SIZE) == pytest.approx(1.1)
    assert links.duration_s(0, "down", SIZE) is None
    assert end_s(timeline, links.transfer(0, "down", SIZE)) == pytest.approx(1.1)
