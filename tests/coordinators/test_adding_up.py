"""A cohort whose models are added up part after part ends where all of them at once would."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simfl
from simfl.components.aggregators.fedavg import FedAvg
from simfl.core.work import WorkResult
from simfl.training.executors import sums
from simfl.training.executors.inline import Inline
from tests.tiny import TINY


class Mine(FedAvg):
    """Does something else than its base."""

    def aggregate(self, model, contributions):
        return super().aggregate(model, contributions) / np.float32(2)


def test_who_builds_on_fedavg_is_asked_itself() -> None:
    assert Mine().weigh([1], [1]) is None


def files(folder: Path, changes: dict[str, Any]) -> dict[str, bytes]:
    [result] = simfl.run(simfl.Scenario.from_dict({**TINY, **changes}), folder)
    return {name: (result.folder / name).read_bytes() for name in ("events.jsonl", "model.pt")}


DIVERGES = {"training": {**TINY["training"], "optimizer": {"name": "sgd", "lr": 1e25}}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        DIVERGES,
        {"selection": "weighted", "aggregation": {"name": "fedavg", "weighting": "uniform"}},
        {"fleet": {**TINY["fleet"], "count": 40}, "rounds": {"clients": 20, "stop": {"rounds": 2}}},
        {"rounds": {**TINY["rounds"], "policy": {"name": "fedbuff", "buffer": 2}}},
    ],
    ids=["plain", "diverging", "drawn-repeatedly", "several-groups", "stale"],
)
def test_runs_are_the_same_however_much_room_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    plain = files(tmp_path / "plain", changes)
    asked = []
    train = Inline.train

    def count(self: Inline, batch: Any) -> list[WorkResult]:
        asked.append(len(batch.orders))
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", count)
    monkeypatch.setattr(sums, "ROOM_BYTES", 1)
    assert files(tmp_path / "scarce", changes) == plain
    assert asked
    if "policy" not in changes.get("rounds", ()):
        assert set(asked) == {1}
