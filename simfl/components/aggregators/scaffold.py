"""SCAFFOLD: control variates against drift (Karimireddy et al., 2020, arXiv:1910.06378, alg. 1).

Option II: what a client reports of its gradients is the mean of those that it stepped along.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import sum_of, weights_of
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Params
from simfl.errors import RunError


@aggregators.register("scaffold")
class Scaffold(Aggregator):
    """``w = w + lr * mean(update_k)``; clients step along ``g(y) - c_k + c``.

    After its steps a participant's control variate becomes
    ``c_k = c_k - c - update_k / sum of its steps' rates``, and the server's moves by the sum of the
    changes over the number of *all* clients that hold samples.  Costs a model's size more each way;
    what goes up is compressed like the update, and `c_k` follows from what the server receives.
    Plain averages: it minimises the mean of the clients' losses, whatever their samples.
    Cost: O(r * p), memory O(p) per client ever heard of.
    """

    corrects: ClassVar[bool] = True
    lr: float = Field(1.0, gt=0, description="server learning rate (eta_g)")

    _clients: int = PrivateAttr(0)
    _control: Floats | None = PrivateAttr(None)
    _controls: dict[int, Params] = PrivateAttr(default_factory=dict)

    @override
    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        self._clients = clients

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        local: LocalTraining = circumstances.training
        optimizer, why = local.optimizer, f"aggregator {self.name!r} reads gradients off plain SGD"
        if not isinstance(optimizer, Sgd):
            yield f"{why}, so it can't go with optimizer {optimizer.name!r}"
            return
        if local.personal_epochs is not None:
            yield f"{why} by all steps, some of which don't train what is shared (personal_epochs)"
        settings = ("momentum", optimizer.momentum), ("clip", optimizer.clip)
        for name, value in (*settings, ("proximal", local.proximal)):
            if value:
                yield f"{why}, so it can't go with {name} {value:g} in local training"

    @override
    def correction(self, client: int) -> Params | None:
        """``c - c_k``; None before the first update arrived."""
        if self._control is None:
            return None
        own = self._controls.get(client)
        return (self._control if own is None else self._control - own).astype(np.float32)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Add the mean update; take over the control variates of who made a step.

        Raises:
            RunError: an update is stale, or comes of a number of clients never told.
        """
        if any(contribution.staleness for contribution in contributions):
            raise RunError("aggregator 'scaffold' can't use stale updates")
        step = sum_of(contributions, weights_of(contributions, "uniform"), "updates")
        self._learn([moved for moved in contributions if moved.result.lr_sum > 0])
        return (model + self.lr * step).astype(np.float32)

    def _learn(self, moved: Sequence[Contribution]) -> None:
        """Take over the control variates of who made a step."""
        if not moved:
            return
        if not self._clients:
            raise RunError("aggregator 'scaffold' was not told how many clients there are")
        control = np.zeros(len(moved[0].base)) if self._control is None else self._control
        change = np.zeros_like(control)
        for contribution in moved:
            client = contribution.result.order.client
            old = self._controls.get(client, np.float32(0))
            new = (old - control - contribution.update / contribution.result.lr_sum).astype(
                np.float32
            )
            change += new.astype(np.float64) - old
            self._controls[client] = new
        self._control = control + change / self._clients
