"""Who is there: looking at few of a large fleet draws whom looking at all of them would draw."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simfl.components.availability.on_off import OnOff
from simfl.core.seeds import Seeds
from simfl.sim.fleet import Fleet
from simfl.sim.server.candidates import Candidates
from simfl.sim.timeline import Timeline
from tests.sim.sim_world import make_fleet

N = 3_000


def fleet(on: str, off: str) -> Fleet:
    samples = np.arange(N) % 7  # every seventh has none
    all_ = make_fleet(N, samples=samples)
    options = OnOff.model_validate({"on": on, "off": off})
    schedule = options.schedule(N, "g", Seeds(3), Path())
    return replace(all_, groups=[replace(all_.groups[0], schedule=schedule)])


def drawn(there: np.ndarray, k: int, able: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Draw candidates a handful at a time, look at each, and keep the first `k` who are there."""
    seen: dict[int, None] = {}
    while len(able) > 16 * (4 * k + 64) and len(seen) < len(able) // 4:
        seen.update(dict.fromkeys(rng.integers(len(able), size=4 * k + 64).tolist()))
        chosen = [able[i] for i in seen if there[able[i]]]
        if len(chosen) >= k:
            return sorted(chosen[:k])
    available = able[there[able]]
    return sorted(rng.choice(available, size=min(k, len(available)), replace=False).tolist())


@pytest.mark.parametrize(("on", "off"), [("2 h", "1 h"), ("1 min", "2 h"), ("1 s", "30 d")])
def test_looking_at_few_draws_the_same(on: str, off: str) -> None:
    timeline, whole = Timeline(), fleet(on, off)
    candidates, everybody = Candidates(timeline, whole), fleet(on, off)
    busy: list[int] = []
    for turn in range(60):
        timeline.run(until=(turn + 1) * 97.0)
        there = everybody.online(np.arange(N), timeline.now)
        there[busy] = False
        there[whole.samples == 0] = False
        for k in (1, 5, 30):
            rng, again = np.random.default_rng([turn, k]), np.random.default_rng([turn, k])
            chosen = candidates.draw(k, rng).tolist()
            assert chosen == drawn(there, k, candidates.able, again)
            assert rng.random() == again.random()
            assert candidates.present(k, None, lambda: np.random.default_rng(0)) == min(
                k, there.sum()
            )
            for client in chosen[:2]:
                candidates.occupy(client)
                there[client] = False
                busy.append(client)
        for client in busy[: len(busy) // 2]:
            candidates.release(client)
        busy = busy[len(busy) // 2 :]


def test_who_is_busy_holds_nothing_or_has_refused_can_not_be_reached() -> None:
    timeline = Timeline()
    candidates = Candidates(timeline, make_fleet(5, samples=np.array([1, 0, 1, 1, 1])))
    candidates.occupy(2)
    assert candidates.reachable(np.arange(5)).tolist() == [0, 3, 4]
    candidates.release(2)
    candidates.dismiss(0)
    assert candidates.reachable(np.arange(5)).tolist() == [2, 3, 4]
