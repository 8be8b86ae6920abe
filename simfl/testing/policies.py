"""The contract of every round policy, as a test suite to inherit: see `simfl.testing.contract`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.policies.base import RoundPolicy
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract
from simfl.testing.virtual_time.handmade import Log, make_fleet, simulate

DEVICES = 6
ABSENT = {"name": "on_off", "on": "1 min", "off": "1 min"}


class PolicyContract(ComponentContract):
    """What holds for every round policy; inherit and set `create`."""

    create: Callable[..., RoundPolicy]

    def run(self, seed: int = 0, rounds: int = 6, clients: int = 3, **fleet: Any) -> Log:
        """Return what happens to six devices of several speeds, and check what always holds."""
        seconds = 1 + 20 * np.random.default_rng(seed).random(DEVICES)
        devices = make_fleet(DEVICES, seconds=seconds, bps=80_000.0, latency_s=0.1, **fleet)
        policy = self.create()
        log = simulate(devices, policy, clients=clients, rounds=rounds, size=2_000, seed=seed)
        self.check_rounds(log, rounds)
        self.check_participations(log, policy.may_be_stale)
        return log

    def check_rounds(self, log: Log, rounds: int) -> None:
        """Assert that rounds follow each other, each with at least as many asked as answers."""
        assert [row.round for row in log.rounds] == list(range(1, 1 + rounds))
        for row in log.rounds:
            assert row.start_s <= row.end_s < math.inf, (row.start_s, row.end_s)
            assert row.wasted_bytes <= row.download_bytes + row.upload_bytes + row.probe_bytes
        ends = [row.end_s for row in log.rounds]
        assert ends == sorted(ends), f"rounds end at {ends}"

    def check_participations(self, log: Log, may_be_stale: bool) -> None:
        """Assert that nobody is at work twice at a time, and stale only where that may be."""
        free_s = dict.fromkeys(range(DEVICES), -math.inf)
        for row in sorted(log.clients, key=lambda row: (row.selected_s, row.client)):
            assert row.selected_s >= free_s[row.client] - 1e-9, f"client {row.client} works twice"
            ended_s = row.upload_end_s or row.compute_end_s or row.download_end_s
            free_s[row.client] = max(free_s[row.client], ended_s or row.selected_s)
            assert may_be_stale or row.staleness == 0, "an update was stale"

    @RELAXED
    @given(seed=SEEDS, clients=st.integers(1, DEVICES + 2), rounds=st.integers(1, 8))
    def test_so_many_rounds(self, seed: int, clients: int, rounds: int) -> None:
        """As many as asked for, whoever is slow and however many are asked."""
        self.run(seed, rounds, clients)

    @RELAXED
    @given(seed=SEEDS, on_offline=st.sampled_from(("abort", "pause")))
    def test_devices_come_and_go(self, seed: int, on_offline: Any) -> None:
        """Rounds go on, although who works may leave."""
        self.run(seed, availability=ABSENT, on_offline=on_offline)

    def test_updates_are_used(self) -> None:
        """Of devices that are always there at least some arrive, and are counted once."""
        log = self.run(rounds=20)
        arrived = sum(row.outcome == "arrived" for row in log.clients)
        assert arrived, "nobody ever arrived"
        assert sum(row.arrived for row in log.rounds) == arrived

    def test_same_seed_same_events(self) -> None:
        """Bit for bit."""
        one, other = (self.run(seed=5, availability=ABSENT) for _ in range(2))
        assert one.events == other.events
