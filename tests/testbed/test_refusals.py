"""What the real clients and servers can't do as a scenario says is refused, not done otherwise."""

from typing import Any

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from simfl import Scenario
from simfl.build.builder import Builder
from simfl.training.executors.inline import Inline
from testbed.commands import Refused
from testbed.rules import rules

PLAIN: dict[str, Any] = {
    "name": "plain",
    "data": {"dataset": {"name": "synthetic_images", "samples": 200}, "partition": "iid"},
    "model": "logistic_regression",
    "fleet": {"name": "a", "count": 4, "compute": "100 samples/s"},
    "training": {"epochs": 1, "batch_size": 20, "optimizer": {"name": "sgd", "lr": 0.1}},
    "rounds": {"clients": 4, "stop": {"rounds": 3}},
}
FEDBUFF = ["rounds.policy={name: fedbuff, buffer: 2}", "aggregation=fedbuff"]


def asked(*changes: str) -> int:
    scenario = Scenario.from_dict(PLAIN, overrides=changes)
    return rules(Builder(scenario, None, True, Inline(), "cpu")).asked


def test_plain_federations_are_run() -> None:
    assert asked() == asked(*FEDBUFF) == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("training.optimizer.momentum=0.9", "training.optimizer"),
        ("training.proximal=0.1", "training.proximal"),
        ("training.compression=float16", "training.compression"),
        ("aggregation=fedadam", "aggregation"),
        ("aggregation={name: fedavg, weighting: uniform}", "aggregation"),
    ],
)
def test_others_are_refused(change: str, told: str) -> None:
    with pytest.raises(Refused, match=f"take out {told}"):
        asked(change)


def test_so_is_another_discount_of_stale_updates() -> None:
    with pytest.raises(Refused, match="take out aggregation"):
        asked(*FEDBUFF, "aggregation={name: fedbuff, exponent: 1}")
