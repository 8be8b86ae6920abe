"""Learning rates by round, against PyTorch's schedulers."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch.optim import SGD
from torch.optim.lr_scheduler import LRScheduler

from simfl.components.schedules.base import Schedule, schedules
from simfl.components.schedules.exponential import Exponential
from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from tests.tiny import TINY

ROUNDS = 12
PEERS: dict[str, tuple[dict[str, Any], Callable[[SGD], LRScheduler]]] = {
    "constant": ({}, lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0)),
    "step": (
        {"milestones": [3, 7], "factor": 0.3},
        lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [3, 7], 0.3),
    ),
    "exponential": ({"decay": 0.9}, lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9)),
    "cosine": (
        {"rounds": ROUNDS, "final": 0.25},
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, ROUNDS, 0.25),
    ),
    "warm_up": (
        {"rounds": 4, "start": 0.2},
        lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.2, 1.0, 4),
    ),
}


def rates(schedule: Schedule) -> list[float]:
    return [schedule.multiplier(round_) for round_ in range(1, ROUNDS + 1)]


@pytest.mark.parametrize("name", PEERS)
def test_they_are_pytorchs(name: str) -> None:
    options, peer = PEERS[name]
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = peer(optimizer)
    expected = []
    for _ in range(ROUNDS):
        expected.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    found = rates(schedules.parse({"name": name, **options}))
    assert found == pytest.approx(expected, rel=1e-12)


def test_all_are_tried() -> None:
    assert schedules.names() == sorted(PEERS)


def test_after_the_fall_of_a_cosine_nothing_changes() -> None:
    cosine = schedules.parse({"name": "cosine", "rounds": 5, "final": 0.1})
    assert [cosine.multiplier(r) for r in (6, 7, 100)] == pytest.approx([0.1] * 3)


def test_what_follows_a_warm_up_counts_from_there() -> None:
    both = schedules.parse(
        {"name": "warm_up", "rounds": 3, "then": {"name": "exponential", "decay": 0.5}}
    )
    assert rates(both)[3:6] == [1.0, 0.5, 0.25]
    assert schedules.parse(schedules.dump(both)) == both


def test_a_decay_by_epoch_counts_all_epochs_done() -> None:
    decay = Exponential(decay=0.5, per="epoch")
    assert decay.multiplier(3, 1, 4) == 0.5**9


def test_a_rate_may_grow_without_end() -> None:
    assert Exponential(decay=2).multiplier(5000) == math.inf


@pytest.mark.parametrize(
    ("name", "options"),
    [("step", {}), ("cosine", {"rounds": 0}), ("exponential", {"decay": 0}), ("warm_up", {})],
)
def test_nonsense_is_refused(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        schedules.get(name).model_validate(options)


def test_a_decay_by_epoch_needs_epochs() -> None:
    for written in (
        {"name": "exponential", "decay": 0.5, "per": "epoch"},
        {
            "name": "warm_up",
            "rounds": 3,
            "then": {"name": "exponential", "decay": 1, "per": "epoch"},
        },
    ):
        schedule = schedules.parse(written)
        assert schedule.by_epoch
        training = {**TINY["training"], "epochs": None, "steps": 4, "lr_schedule": written}
        with pytest.raises(ScenarioError, match="per epoch needs `epochs`, not `steps`"):
            Scenario.from_dict({**TINY, "training": training})
    assert not schedules.parse({"name": "cosine", "rounds": 5}).by_epoch
