"""Oort round by round beside a plain reckoning, from the paper's Algorithm 1 and its authors' code.

With a cut-off of 100% and nobody new who is exploited is no matter of chance (paper), or one of k
in k + 1 (code).
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from simfl.components.selectors.oort import Oort
from simfl.testing.fake_server import FakeServer

N, K, WINDOW, MOST = 24, 4, 3, 6
SURE = {"exploration": 0, "least_exploration": 0, "cutoff": 1, "window": WINDOW, "blacklist": MOST}


@dataclass
class Plain:
    """What a server knows that runs Oort.

    Attributes:
        code: whether it reckons as the authors' code does.
        of_utility: whether slowness shrinks the utility, not the score.
        duration_s: of each client.
    """

    code: bool
    of_utility: bool
    duration_s: list[float]
    utility: dict[int, float] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    often: dict[int, int] = field(default_factory=dict)
    earned: list[float] = field(default_factory=list)
    percentile: float = 10.0

    def learn(self, round_: int, gained: dict[int, float], exploited: list[int]) -> None:
        for client, utility in gained.items():
            self.utility[client], self.last[client] = utility, round_
            self.often[client] = self.often.get(client, 0) + 1
        earned = sum(gained[client] for client in exploited)
        self.earned.append(earned / max(len(exploited), 1) if self.code else earned)

    def pace(self) -> None:
        if len(self.earned) == 2 * WINDOW:
            before, now = sum(self.earned[:WINDOW]), sum(self.earned[WINDOW:])
            del self.earned[:WINDOW]
            if (abs(now - before) <= before / 10) if self.code else now < before:
                self.percentile = min(self.percentile + 5, 100)
            elif self.code and abs(now - before) >= 5 * before:
                self.percentile = max(self.percentile - 5, 5)

    def quantile(self, numbers: list[float], percent: float) -> float:
        if self.code:
            return sorted(numbers)[min(int(len(numbers) * percent / 100), len(numbers) - 1)]
        return float(np.percentile(numbers, percent))

    def best(self, round_: int, available: list[int]) -> list[int]:
        """Return who may be exploited, those with the highest scores first."""
        busiest = sorted(range(N), key=lambda client: (-self.often.get(client, 0), client))
        tired = {c for c in busiest[: 3 * N // 10] if self.often.get(c, 0) > MOST}
        preferred = self.quantile([self.duration_s[c] for c in self.utility], self.percentile)
        late = {c: min(preferred / self.duration_s[c], 1.0) ** 2 for c in self.utility}
        utility = {c: u * late[c] if self.of_utility else u for c, u in self.utility.items()}
        rested = [client for client in available if client not in tired]
        known = [utility[c] for c in (rested if self.code else utility)]
        clip = self.quantile(known, 98 if self.code else 95)
        low, high = (0.999 * min(known), max(known)) if self.code else (min(known), clip)
        scores = {}
        for client in rested:
            age = math.sqrt(0.1 * math.log(round_) / self.last[client])
            score = (min(utility[client], clip) - low) / (high - low) + age
            scores[client] = score if self.of_utility else score * late[client]
        return sorted(scores, key=lambda client: -scores[client])


@pytest.mark.parametrize("of_utility", [False, True])
@pytest.mark.parametrize("code", [False, True])
def test_who_is_exploited_is_whom_a_plain_reckoning_has(code: bool, of_utility: bool) -> None:
    rng = np.random.default_rng(3)
    options: dict[str, Any] = {**SURE, "preset": "code" if code else "paper"}
    selector = Oort.model_validate(options | {"penalise": "utility" if of_utility else "score"})
    server = FakeServer.random(N, 5)
    plain = Plain(code, of_utility, server.duration_s.tolist())
    server.choose(selector, K, rng)
    chosen, everybody, percentiles, tired = list(range(N)), np.arange(N), set(), 0
    for round_ in range(1, 61):
        # Losses stay about the same, or rise, so that the pacer has something to look at.
        server.loss *= (3.0 if round_ % 15 > 11 else 1 / server.decay) * rng.uniform(0.97, 1.03, N)
        server.finish(selector, chosen)
        losses = server.loss[chosen] * server.decay**round_
        gained = dict(zip(chosen, (server.samples[chosen] * losses).tolist(), strict=True))
        plain.learn(round_, gained, [] if round_ == 1 else chosen)
        server.available = np.sort(rng.choice(everybody, int(rng.integers(14, N)), replace=False))
        chosen = server.choose(selector, K, rng).tolist()
        plain.pace()
        best = plain.best(round_ + 1, server.available.tolist())
        tired += len(best) < len(server.available)
        assert set(chosen) <= set(best[: K + code])
        assert selector.state_dict()["_percentile"] == plain.percentile
        percentiles.add(plain.percentile)
    assert len(percentiles) > 1
    assert tired
