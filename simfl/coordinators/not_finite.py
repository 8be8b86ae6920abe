"""Training that came to no finite numbers: it has diverged, or users' code is to blame."""

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from simfl.coordinators.global_model import GlobalModel
from simfl.core.ownership import names, users_own
from simfl.errors import ComponentError

if TYPE_CHECKING:
    from simfl.training.task import Task


def blame_for_not_finite(
    task: "Task", model: GlobalModel, clients: Collection[int], round_: int
) -> None:
    """Blame users' code for results that are no finite numbers; of simfl's own, they diverged.

    A model and a loss that make such numbers where training begins are to blame, an optimizer
    always is.

    Args:
        task: whose code trained.
        model: judged where it begins.
        clients: whose results those are.
        round_: in which they were to count.

    Raises:
        ComponentError: users' code is to blame.
    """
    blamed = users_own([task.training.optimizer])
    if not blamed and (judged := users_own([task.model, task.training.loss])):
        began_at = model.judge(model.initial).loss
        blamed = [] if math.isfinite(began_at) else judged
    if blamed:
        raise ComponentError(
            f"{names(blamed)}, training clients {sorted(clients)} in round {round_}: expected "
            "finite parameters and losses, got some that are not; if training diverges, a "
            "smaller learning rate helps"
        )
