"""Every registered network goes through the contract, which catches faulty ones."""

import numpy as np
import pytest

from simfl.sim.networks.base import Links, Network, Transfer, networks
from simfl.testing.contract import suites
from simfl.testing.networks import NetworkContract

CROWDED = {"server_uplink": "10 kbit/s", "server_downlink": "6 kbit/s"}
QUEUE = {"queue": "fifo", **CROWDED}
SHARED = {
    "crowded": CROWDED,
    "queue": QUEUE,
    "windows": QUEUE | {"initial_window": "2896 B", "buffer": "2 kB", "overhead": "10%"},
    "messages": {"overhead": "10%", "message_overhead": "200 B"},
    "losses": {"initial_window": "2896 B", "queue_limit": "3 kB", "overhead": "10%"},
}
globals().update(suites(NetworkContract, networks))
for name, options in SHARED.items():
    [suite] = suites(NetworkContract, networks, {"shared": {"options": options}}).values()
    globals()[f"Test_{name}"] = type(f"Test_{name}", (suite,), {})


class Simple(Network):
    """Links that nobody shares; each subclass does one thing wrong."""

    def bind(self, timeline, downlink_bps, uplink_bps, latency_s, **extra):
        return self.links()(timeline)

    def links(self):
        return SimpleLinks


class SimpleLinks(Links):
    def __init__(self, timeline):
        self.timeline = timeline

    def duration_s(self, device, direction, size):
        return None

    def expected_s(self, device, direction, size):
        return 0.5 + size / 1000

    def transfer(self, device, direction, size):
        return SimpleTransfer(self.timeline, size, self.lasts_s(device, direction, size))

    def lasts_s(self, device, direction, size):
        return self.expected_s(device, direction, size)


class SimpleTransfer(Transfer):
    def __init__(self, timeline, size, lasts_s):
        super().__init__(timeline)
        self.size, self.began_s, self.lasts_s, self.off = size, timeline.now, lasts_s, False
        timeline.at(timeline.now + lasts_s).callbacks.append(self.arrive)

    def arrive(self, _):
        if not self.off:
            self.succeed()

    def abort(self):
        self.off = True
        return int(self.size * (self.env.now - self.began_s) / self.lasts_s)


class Hasty(SimpleLinks):
    def lasts_s(self, *what):
        return 0.9 * self.expected_s(*what)


class Promises(SimpleLinks):
    def duration_s(self, device, direction, size):
        return size / 1000


class Backwards(SimpleLinks):
    def expected_s(self, device, direction, size):
        return 1e7 - size / 1000


class Stubborn(SimpleLinks):
    def transfer(self, device, direction, size):
        transfer = super().transfer(device, direction, size)
        transfer.abort = lambda: 0
        return transfer


class Generous(SimpleLinks):
    def transfer(self, device, direction, size):
        transfer, abort = super().transfer(device, direction, size), SimpleTransfer.abort
        transfer.abort = lambda: abort(transfer) + size + 1
        return transfer


class DrawsForItself(SimpleLinks):
    def lasts_s(self, *what):
        return self.expected_s(*what) + np.random.default_rng().random()


class OneEach(SimpleLinks):
    """A device that was cut off never gets another transfer through."""

    seen: tuple[int, ...] = ()

    def transfer(self, device, direction, size):
        again = device in self.seen
        self.seen = (*self.seen, device)
        transfer = super().transfer(device, direction, size)
        transfer.off = again
        return transfer


@pytest.mark.parametrize(
    ("links", "test"),
    [
        (Hasty, "test_alone_a_transfer_takes_what_is_expected"),
        (Hasty, "test_nobody_is_faster_than_alone"),
        (Promises, "test_alone_a_transfer_takes_what_is_expected"),
        (Backwards, "test_more_bytes_never_take_less_time"),
        (Stubborn, "test_cut_off"),
        (Generous, "test_cut_off"),
        (OneEach, "test_who_is_cut_off_makes_room"),
        (DrawsForItself, "test_same_transfers_same_instants"),
    ],
)
def test_the_contract_catches(links, test, caught) -> None:
    class Faulty(Simple):
        def links(self):
            return links

    caught(NetworkContract, test, Faulty, sound=Simple)
