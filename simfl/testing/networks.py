"""The contract of every network, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import simpy
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.networks.base import Direction, Links, Network
from simfl.sim.timeline import Timeline
from simfl.testing.contract import RELAXED, ComponentContract

DEVICES = 4
Start = tuple[float, int, Direction, int]
"""When a transfer starts, of which device, which way, and its bytes."""

STARTS = st.lists(
    st.tuples(
        st.floats(0, 20),
        st.integers(0, DEVICES - 1),
        st.sampled_from(("down", "up")),
        st.integers(0, 20_000),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda start: start[1:3],  # a device has one transfer each way at most
)


class NetworkContract(ComponentContract):
    """What holds for every network; inherit and set `create`."""

    create: Callable[..., Network]

    def bound(self) -> tuple[Timeline, Links]:
        """Return the links of four devices of 8 and 4 kbit/s and half a second's latency."""
        timeline, ones = Timeline(), np.ones(DEVICES)
        return timeline, self.create().bind(timeline, 8_000 * ones, 4_000 * ones, 0.5 * ones)

    def ends(self, starts: Sequence[Start]) -> list[float | None]:
        """Return when each transfer is over (None: never)."""
        timeline, links = self.bound()
        ends: list[float | None] = [None] * len(starts)

        def note(number: int, _: simpy.Event) -> None:
            assert ends[number] is None, "a transfer ended twice"
            ends[number] = timeline.now

        def start(number: int, _: simpy.Event) -> None:
            transfer = links.transfer(*starts[number][1:])
            assert transfer.callbacks is not None, "a transfer was over before it began"
            transfer.callbacks.append(partial(note, number))

        for number, (start_s, *_) in enumerate(starts):
            callbacks = timeline.at(start_s).callbacks
            assert callbacks is not None
            callbacks.append(partial(start, number))
        timeline.run()
        return ends

    @RELAXED
    @given(start=st.builds(lambda starts: starts[0], STARTS))
    def test_alone_a_transfer_takes_what_is_expected(self, start: Start) -> None:
        """And what `duration_s` says, if it says anything."""
        start_s, what = start[0], start[1:]
        _, links = self.bound()
        expected_s, promised_s = links.expected_s(*what), links.duration_s(*what)
        [end_s] = self.ends([start])
        assert end_s is not None, "it never ended"
        assert np.isclose(end_s - start_s, expected_s, rtol=1e-9, atol=1e-6), (end_s, expected_s)
        if promised_s is not None:
            assert np.isclose(end_s - start_s, promised_s, rtol=1e-9, atol=1e-6)

    @RELAXED
    @given(starts=STARTS)
    def test_nobody_is_faster_than_alone(self, starts: list[Start]) -> None:
        """All transfers end, none sooner than with every link to itself."""
        _, links = self.bound()
        for start, end_s in zip(starts, self.ends(starts), strict=True):
            assert end_s is not None, "it never ended"
            assert end_s >= start[0] + links.expected_s(*start[1:]) - 1e-6

    def test_all_are_expected_as_each(self) -> None:
        """To the last bit."""
        _, links = self.bound()
        for way in ("down", "up"):
            for size in (0, 1000):
                each_s = [links.expected_s(device, way, size) for device in range(DEVICES)]
                assert links.all_expected_s(DEVICES, way, size).tolist() == each_s

    def test_more_bytes_never_take_less_time(self) -> None:
        """In either direction."""
        _, links = self.bound()
        for way in ("down", "up"):
            expected = [links.expected_s(0, way, size) for size in (0, 1, 1000, 10**6, 10**9)]
            assert expected == sorted(expected)
            assert expected[0] >= 0

    @RELAXED
    @given(size=st.integers(0, 20_000), share=st.floats(0, 0.99))
    def test_cut_off(self, size: int, share: float) -> None:
        """The whole bytes moved so far are told, and the transfer never fires."""
        timeline, links = self.bound()
        transfer = links.transfer(0, "up", size)
        fired: list[simpy.Event] = []
        assert transfer.callbacks is not None
        transfer.callbacks.append(fired.append)
        timeline.run(until=timeline.at(share * links.expected_s(0, "up", size)))
        moved = transfer.abort()
        assert type(moved) is int, moved
        assert 0 <= moved <= size, f"{moved} of {size} bytes"
        timeline.run()
        assert not fired, "it fired after it was cut off"

    def test_who_is_cut_off_makes_room(self) -> None:
        """The others end as if it had never started again, and a new transfer can start."""
        timeline, links = self.bound()
        ends: list[float] = []
        staying, going = links.transfer(0, "up", 5_000), links.transfer(1, "up", 5_000)
        assert staying.callbacks is not None
        staying.callbacks.append(lambda _: ends.append(timeline.now))
        timeline.run(until=timeline.at(1.0))
        going.abort()
        again = links.transfer(1, "up", 100)
        assert again.callbacks is not None
        again.callbacks.append(lambda _: ends.append(timeline.now))
        timeline.run()
        assert len(ends) == 2, "somebody never ended"

    def test_same_transfers_same_instants(self) -> None:
        """Bit for bit."""
        starts: list[Start] = [(0.1 * i, i, "down", 1_000 * (1 + i)) for i in range(DEVICES)]
        assert self.ends(starts) == self.ends(starts)
