"""Circumstances for tests of what components object to."""

from dataclasses import replace
from typing import Any

from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.circumstances import Circumstances

ORDINARY = Circumstances(
    trains=True,
    devices=10,
    clients=4,
    ends_by=frozenset({"rounds"}),
    policy="synchronous",
    tiers=1,
    may_be_stale=False,
    withheld_by="",
    training=LocalTraining(8, Sgd()),
    steps=None,
    dataset="synthetic_images",
    partition="iid",
    tokens=False,
    has_natural=False,
    targets="classes",
    awaits_accuracy=False,
    deals_itself=False,
    input_of=lambda: ((1, 28, 28), 10),
)
"""Synchronous rounds of plain training on pictures: nothing built in objects to them."""


def circumstances(**changes: Any) -> Circumstances:
    """Return ordinary circumstances, changed."""
    return replace(ORDINARY, **changes)
