"""TiFL beside a plain reckoning of its Algorithm 2: who may be chosen, and how likely.

Which tier it was that was chosen is seen from who was; losses go up and down.
"""

from typing import Any

import numpy as np
import pytest

from simfl.components.selectors.tifl import Tifl
from simfl.testing.fake_server import FakeServer

TIERS, EACH, INTERVAL, ROUNDS = 4, 5, 3, 60


@pytest.mark.parametrize("credits_given", [9, 10_000])
@pytest.mark.parametrize("probabilities", ["paper", "positive"])
def test_chances_are_those_of_a_plain_reckoning(probabilities: str, credits_given: int) -> None:
    rng = np.random.default_rng(2)
    server = FakeServer.random(TIERS * EACH, 4)
    server.decay = 1.0
    options: dict[str, Any] = {"probabilities": probabilities, "credits": credits_given}
    selector = Tifl.model_validate({"tiers": TIERS, "interval": INTERVAL, **options})
    tier = np.argsort(np.argsort(server.duration_s)) // EACH
    credit, chances = [credits_given] * TIERS, [1.0] * TIERS
    before, present, changed_at = None, -1, set()
    for round_ in range(ROUNDS):
        server.loss *= rng.uniform(0.6, 1.6, TIERS)[tier]
        if round_ % INTERVAL == 0:
            means = [np.average(server.loss[tier == t], weights=server.samples[tier == t])
                     for t in range(TIERS)]  # fmt: skip
            if before is not None and means[present] >= before[present]:
                worst_first = sorted(
                    (t for t in range(TIERS) if credit[t]), key=lambda t: -means[t]
                )
                n = len(worst_first)
                parts = n * (n - 1) / 2 if probabilities == "paper" else n * (n + 1) / 2
                chances = [0.0] * TIERS
                for place, t in enumerate(worst_first, start=1):
                    over = n - place if probabilities == "paper" else n + 1 - place
                    chances[t] = over / parts if parts else 1.0
                changed_at.add(present)
            before = means
        chosen = server.choose(selector, 2, rng)
        [present] = set(tier[chosen].tolist())
        told = selector.state_dict()["_chances"].get(0, [1.0] * TIERS)
        assert list(told) == pytest.approx(chances)
        open_ = [t for t in range(TIERS) if credit[t]]
        likely = [t for t in open_ if chances[t]]
        assert present in (likely or open_ or range(TIERS))
        credit[present] -= credit[present] > 0
        server.finish(selector, chosen)
    assert changed_at == set(range(TIERS))
    assert any(credit) == (credits_given > ROUNDS)
