"""FedNova: normalised averaging (Wang et al., 2020, arXiv:2007.07481, sections 3.2 and 4)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Weighting, sum_of, weights_of
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.circumstances import Circumstances
from simfl.core.types import Params
from simfl.core.work import WorkResult

BOTH = "momentum and proximal can't both be above 0: no formula is published"


@aggregators.register("fednova")
class FedNova(Aggregator):
    """``w = w + tau_eff * sum p_k update_k / a_k`` with ``tau_eff = sum p_k a_k``.

    `a_k` is how far `steps` local steps reach, so that clients that made more steps do not pull the
    model further than their weight says.  Equal steps: FedAvg.  A client without steps has no say.
    Cost: O(r * p), memory O(p).
    """

    weighting: Weighting = Field("samples", description="samples: by n_k; uniform: all equally")
    momentum: float | None = Field(
        None, ge=0, lt=1, description="rho; omitted: the momentum of local training"
    )
    proximal: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="learning rate times FedProx's mu; omitted: the values of local training",
    )

    _local: LocalTraining | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.momentum and self.proximal:
            raise ValueError(BOTH)
        return self

    @override
    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        self._local = local

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        run, local = self.fresh(), circumstances.training
        if local.personal_epochs is not None:
            yield (
                f"aggregator {self.name!r} weighs updates by a client's steps, some of which don't "
                "train what is shared (personal_epochs)"
            )
        run.prepare(local, circumstances.devices, circumstances.clients)
        optimizer, rate = local.optimizer, run._rate(1)
        if self.proximal is None:  # a schedule may begin below the full rate
            rate = max(rate, local.proximal * optimizer.lr)
        if self.momentum is None and (not isinstance(optimizer, Sgd) or optimizer.nesterov):
            yield (
                f"aggregator {self.name!r} knows how far steps of sgd reach, without `nesterov`; "
                f"name a `momentum` that comes close in its options to go with {optimizer.name}"
            )
        elif (run._rho or rate) and local.schedule.by_epoch:
            yield (
                f"aggregator {self.name!r} knows how far steps with momentum or a proximal term "
                "reach at one learning rate a round, but `lr_schedule` changes it per epoch"
            )
        elif run._rho and rate:
            yield f"aggregator {self.name!r}: {BOTH}; name one of them in its options"
        elif rate >= 1:
            yield (
                f"aggregator {self.name!r} needs the learning rate times `proximal` to be below 1, "
                f"but it is {rate:g}"
            )

    @override
    def state_dict(self) -> dict[str, Any]:
        """Nothing changes from round to round."""
        return {}

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        moved = [c for c in contributions if c.result.steps > 0]
        if not moved:
            return model
        weights = weights_of(moved, self.weighting)
        reach = np.array([self._reach(c.result) for c in moved])
        step = sum_of(moved, (weights @ reach) * weights / reach, "updates")
        return (model + step).astype(np.float32)

    @property
    def _rho(self) -> float:
        if self.momentum is not None:
            return self.momentum
        optimizer = None if self._local is None else self._local.optimizer
        return optimizer.momentum if isinstance(optimizer, Sgd) else 0.0

    def _rate(self, round_: int) -> float:
        """Return the learning rate times mu at the start of a round."""
        if self.proximal is not None:
            return self.proximal
        local = self._local
        if local is None or not local.proximal:
            return 0.0
        return local.proximal * local.rate(round_)

    def _reach(self, result: WorkResult) -> float:
        """Return a_k (section 4.1): the steps' total weight in the accumulated gradient."""
        steps, round_ = result.steps, result.order.round
        if rho := self._rho:
            runs = self._runs(result)
            return sum((run - rho * (1 - rho**run) / (1 - rho)) / (1 - rho) for run in runs)
        kept = 1 - (rate := self._rate(round_))
        if kept < 1:  # else the pull is none, or too weak for a number to tell
            return float((1 - kept**steps) / rate)
        # Where the learning rate falls within a round, later steps weigh less.
        full = steps * (0.0 if self._local is None else self._local.rate(round_))
        same = not result.lr_sum or not full or math.isclose(result.lr_sum, full, rel_tol=1e-6)
        return float(steps if same else steps * result.lr_sum / full)

    def _runs(self, result: WorkResult) -> tuple[int, ...]:
        """Return the steps that one optimizer made: it begins anew on a coreset."""
        plan, local = result.order.plan, self._local
        if local is None or not plan.coreset_epochs:
            return (result.steps,)
        full = min(plan.full_epochs * math.ceil(result.samples / local.batch_size), result.steps)
        return (full, result.steps - full)
