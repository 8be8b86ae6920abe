"""Runs whose rounds are computed anew, instant by instant, from nothing but who was chosen."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from simfl.components.availability.together import all_of
from simfl.core.epsilon import Privacy, gaussian_epsilon
from simfl.core.rows import PrivateRoundRow
from simfl.core.seeds import Seeds
from simfl.sim.occasions import Failures
from simfl.sim.server.settings import Stop
from tests.sim.plain_server import INF, Member, PlainServer
from tests.sim.sim_world import FakeCoordinator, Sessions, make, make_fleet

SAMPLES, BYTES = 16, 3280
POLICIES = ("fedasync", "fedbuff", "semi_synchronous", "synchronous", "tiered", "hierarchical")
DURATIONS = ("server_time", "timeout", "period", "deadline", "latency")
HAIR = 2.0**-12
"""Seconds: nothing happens at the very same instant but what must."""
NOISE, DELTA = 2.0, 1e-5
MISHAPS = range(23, 29)
"""Seeds of runs whose trainings fail, whose devices are there while two things are so at once, and
that have too few updates or end by privacy spent."""


class Told(Failures):
    """Failures that are told beforehand, so that all of their instants are binary fractions."""

    def __init__(self, shares: Sequence[Iterable[float | None]]) -> None:
        self._shares = [iter(each) for each in shares]

    def breaks_off(self, device: int) -> float | None:
        return next(self._shares[device])


def drawn_failures(rng: np.random.Generator, devices: int) -> Sequence[Iterable[float | None]]:
    """Return after which share of it each training of each device fails."""
    often = rng.choice([0.0, 0.1, 0.4], devices)
    return [
        [float(share) / 1024 if fails else None
         for share, fails in zip(rng.integers(1, 1024, 2000), rng.random(2000) < p, strict=True)]
        for p in often
    ]  # fmt: skip


def drawn_sessions(rng: np.random.Generator, device: int) -> list[tuple[float, float]]:
    """Return sessions that begin again and again, or one for ever."""
    period_s, sessions, at = float(rng.choice([16, 24, 40, 64])), [], 0.0
    if rng.random() < 0.3:
        return [(0.0, INF)]
    while True:
        start = at + rng.integers(0, 32) / 4 + rng.integers(0, 256) * HAIR * 2
        end = start + rng.integers(4, 100) / 4 + rng.integers(0, 256) * HAIR * 2
        if end >= period_s:
            break
        sessions.append((float(start), float(end)))
        at = end + rng.integers(1, 32) / 4
    sessions = sessions or [(0.0, period_s / 2 + device * HAIR)]
    return [(k * period_s + a, k * period_s + b) for k in range(100) for a, b in sessions]


def common(
    first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return the sessions during which both go on."""
    both = [(max(a, c), min(b, d)) for a, b in first for c, d in second if c < b and a < d]
    return sorted(both)


def drawn_policy(rng: np.random.Generator, name: str, devices: int) -> dict[str, Any]:
    """Return options of a round policy, durations in seconds."""
    policy: dict[str, Any] = {"name": name}

    def perhaps(option: str, value: Any) -> None:
        if rng.random() < 0.5:
            policy[option] = value

    perhaps("server_time", float(rng.choice([0.5, 1.25, 3.0])) + HAIR)
    if name in ("fedasync", "fedbuff"):
        perhaps("timeout", int(rng.integers(4, 60)) / 4 + 3 * HAIR)
    if name in ("fedasync", "fedbuff", "semi_synchronous"):
        perhaps("concurrency", int(rng.integers(1, devices + 3)))
        perhaps("max_staleness", int(rng.integers(0, 4)))
    if name == "fedbuff":
        policy["buffer"] = int(rng.integers(1, 5))
    if name == "semi_synchronous":
        policy["period"] = int(rng.integers(2, 40)) / 4 + 5 * HAIR
    if name in ("synchronous", "tiered", "hierarchical"):
        perhaps("deadline", int(rng.integers(8, 80)) / 4 + 7 * HAIR)
    if name == "synchronous":
        perhaps("over_select", float(rng.choice([1.3, 1.5, 2.0])))
        perhaps("late", "carry")
    if name == "tiered":
        policy["tiers"] = int(rng.integers(1, 4))
        perhaps("clients_per_tier", int(rng.integers(1, 4)))
    if name == "hierarchical":
        policy["edges"] = int(rng.integers(1, min(devices, 3) + 1))
        policy["edge_rounds"] = int(rng.integers(1, 4))
        perhaps("clients_per_edge", int(rng.integers(1, 4)))
        perhaps("latency", int(rng.integers(1, 20)) / 4 + 9 * HAIR)
    return policy


@pytest.mark.parametrize("policy_name", POLICIES)
@pytest.mark.parametrize("seed", [*range(10, 22), *MISHAPS])
def test_rounds_are_those_of_a_plain_server(seed: int, policy_name: str) -> None:
    rng = np.random.default_rng([seed, POLICIES.index(policy_name)])
    while not compared(rng, policy_name, seed in MISHAPS):
        pass


def compared(rng: np.random.Generator, name: str, mishaps: bool) -> bool:
    """Compare a run with what is computed anew; return whether it came to its end."""
    n = int(rng.integers(2, 10))
    rates = rng.choice([1.0, 2.0, 4.0, 8.0, 16.0], n)
    own = rng.integers(0, 2**10, n) / 2**14 + (2 * np.arange(n) + 1) / 2**18
    latencies = rng.integers(0, 4, n) / 4 + own
    uplinks = rng.choice([math.inf, BYTES * 4.0, BYTES * 8.0], n)
    sessions = [drawn_sessions(rng, device) for device in range(n)]
    policy, clients = drawn_policy(rng, name, n), int(rng.integers(1, n + 1))
    quorum = name in ("synchronous", "hierarchical") and rng.random() < 0.4
    min_clients = int(rng.integers(1, clients + 1)) if quorum else None
    fleet = make_fleet(n, rates, INF, uplinks, latencies, SAMPLES, sessions=sessions)
    shares = drawn_failures(rng, n) if mishaps else [repeat(None)] * n
    stop, privacy, most = Stop(rounds=12, time_s=1000.0), None, INF
    if mishaps and name == "synchronous" and "late" not in policy:
        policy["min_updates"] = min(int(rng.integers(2, 4)), clients)
        most = int(rng.integers(2, 9))
        within, beyond = (gaussian_epsilon(NOISE, most + more, DELTA) for more in (0, 1))
        stop = replace(stop, epsilon=float(rng.choice([within, (within + beyond) / 2])))
        privacy = Privacy(NOISE, DELTA)
    if mishaps:
        plugged = [drawn_sessions(rng, n + device) for device in range(n)]
        both = all_of([Sessions(sessions), Sessions(plugged)], n)
        fleet = replace(fleet, groups=[replace(fleet.groups[0], schedule=both)])
        sessions = [common(*each) for each in zip(sessions, plugged, strict=True)]
    world = make(
        replace(fleet, failures=Told(shares)) if mishaps else fleet,
        {key: f"{value!r} s" if key in DURATIONS else value for key, value in policy.items()},
        clients,
        stop,
        coordinator=FakeCoordinator(lambda view, _, k: sorted(rng.permutation(view.available)[:k])),
        model_bytes=BYTES,
        min_clients=min_clients,
        privacy=privacy,
    )
    if world.server.why_finished not in ("rounds", "epsilon"):
        return False
    choices = [(t, f["asked"], f["clients"]) for t, kind, f in world.events if kind == "selected"]
    phases = np.stack([latencies, SAMPLES / rates, latencies + 8 * BYTES / uplinks], axis=1)
    members = [Member(*each) for each in zip(phases.tolist(), sessions, strict=True)]
    draws = Seeds(0).uniforms(("tiers",), np.arange(n), 0).tolist()
    breaks_off = Told(shares).breaks_off
    server = PlainServer(
        members, policy, clients, 12, choices, min_clients, draws, breaks_off, most
    ).run()
    assert not choices
    assert sorted(part.facts for part in server.parts) == sorted(
        (row.client, row.selected_s, row.round, t, row.outcome, row.staleness)
        for t, row in ((t, f["row"]) for t, kind, f in world.events if kind == "participation")
    )
    assert server.rounds == [(row.start_s, row.end_s) for row in world.rounds]
    abandoned = [facts for _, kind, facts in world.events if kind == "abandoned"]
    assert server.abandoned == [(facts["round"], facts["arrived"]) for facts in abandoned]
    if privacy is not None:
        assert world.server.why_finished == ("rounds" if len(server.rounds) == 12 else "epsilon")
        told = [row.epsilon for row in world.rounds if isinstance(row, PrivateRoundRow)]
        assert told == [gaussian_epsilon(NOISE, heard, DELTA) for heard in server.heard]
    return True
