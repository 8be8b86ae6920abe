"""Results that are no finite numbers: whose code is to blame, if anybody's."""

import math
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.models.mlp import Mlp
from simfl.components.optimizers.sgd import Sgd
from simfl.coordinators.global_model import GlobalModel
from simfl.coordinators.not_finite import blame_for_not_finite
from simfl.core.component import Component
from simfl.core.evaluation import Evaluation
from simfl.errors import ComponentError

OURS: dict[str, Component] = {"optimizer": Sgd(), "model": Mlp(), "loss": CrossEntropy()}


def a_users(part: str) -> Component:
    """Return a component that does what simfl's does, but lies outside of it."""
    ours = type(OURS[part])
    return type(f"Their{part}", (ours,), {"__module__": __name__, "name": f"their_{part}"})()


@pytest.mark.parametrize(
    ("theirs", "loss_at_first", "blamed"),
    [
        ([], math.nan, None),
        (["optimizer"], 0.5, "optimizer 'their_optimizer'"),
        (["loss"], 0.5, None),
        (["model", "loss"], math.nan, "model 'their_model' or loss 'their_loss'"),
        (["optimizer", "loss"], math.nan, "optimizer 'their_optimizer'"),
    ],
)
def test_simfls_own_code_diverges_and_users_code_is_to_blame(
    theirs: list[str], loss_at_first: float, blamed: str | None
) -> None:
    """A model and a loss are, if their numbers are not finite before anything is trained."""
    parts = OURS | {part: a_users(part) for part in theirs}
    training = SimpleNamespace(optimizer=parts["optimizer"], loss=parts["loss"])
    task: Any = SimpleNamespace(model=parts["model"], training=training)
    initial = np.zeros(2, dtype=np.float32)
    model = GlobalModel(initial, (2,), lambda _: Evaluation(0.5, loss_at_first), np.ndarray.tobytes)
    told = rf"^{blamed}, training clients \[1, 4\] in round 3: expected finite parameters"
    with pytest.raises(ComponentError, match=told) if blamed else nullcontext():
        blame_for_not_finite(task, model, [4, 1], 3)
