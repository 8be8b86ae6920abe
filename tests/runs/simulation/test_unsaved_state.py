"""What a component remembers that no checkpoint has is told of by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import PrivateAttr

from simfl import Options, Scenario, run
from simfl.components.attacks.base import Attack, Update
from simfl.components.metrics.base import QualityMetric
from simfl.components.schedules.base import Schedule
from simfl.core.types import Rng
from tests.tiny import TINY


class Calls(QualityMetric):
    """How often it was asked."""

    _asked: int = PrivateAttr(0)

    def of(self, outputs: Any, targets: Any) -> float:
        self._asked += 1
        return float(self._asked)


class Fading(Schedule):
    """Less each time that it is asked."""

    _left: list[float] = PrivateAttr(default_factory=lambda: [1.0])

    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        self._left.append(self._left[-1] / 2)
        return self._left[-1]


class Growing(Attack):
    """More each time."""

    _factor: float = PrivateAttr(1.0)

    def forge(self, update: Update, rng: Rng) -> Update:
        self._factor *= 2
        return np.float32(self._factor) * update


class Steady(Schedule):
    """The same always."""

    _cache: dict[int, float] = PrivateAttr(default_factory=dict)

    def multiplier(self, round_: int, epoch: int = 0, epochs: int = 1) -> float:
        return 1.0


def test_an_attack_metric_or_schedule_that_remembers_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its second seed went on where the first had ended, and so did no resumed run."""
    changes = {
        "training": {**TINY["training"], "lr_schedule": f"{__name__}:Fading"},
        "evaluation": {"metrics": [f"{__name__}:Calls"]},
        "fleet": {**TINY["fleet"], "attack": f"{__name__}:Growing"},
        "seeds": [0, 1],
    }
    run(Scenario.from_dict({**TINY, **changes}), tmp_path, Options("inline", jobs=1))
    told = sorted(r.getMessage() for r in caplog.records if "remembers" in r.getMessage())
    assert [line.partition(" changed")[0] for line in told] == [
        f"attack '{__name__}:Growing': what it remembers (_factor)",
        f"quality metric '{__name__}:Calls': what it remembers (_asked)",
        f"schedule '{__name__}:Fading': what it remembers (_left)",
    ]


def test_one_that_remembers_nothing_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    changes = {"training": {**TINY["training"], "lr_schedule": f"{__name__}:Steady"}}
    run(Scenario.from_dict({**TINY, **changes}), tmp_path, Options("inline", jobs=1))
    assert "remembers" not in caplog.text
