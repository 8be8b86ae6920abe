"""FedDyn: dynamic regularisation (Acar et al., 2021, arXiv:2111.04263, algorithm 1).

The authors' code has each client's alpha over its share of the samples, and so minimises the loss
over all samples alike; it is read here as printed, with one alpha.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import sum_of, weights_of
from simfl.components.local_training import LocalTraining
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Params
from simfl.errors import RunError

ALPHA = "alpha is `training.proximal`, by which clients train"


@aggregators.register("feddyn")
class FedDyn(Aggregator):
    """``w = mean(w_k) - h / alpha``; clients step along ``g(y) - h_k + alpha * (y - w)``.

    alpha is `training.proximal`.  A participant's ``h_k``, which comes close to its own gradient,
    becomes ``h_k - alpha * update_k``; ``h`` is the mean over *all* clients that hold samples (0 at
    first).  ``h_k`` stays with the client and costs no bytes.  It follows from the update as sent,
    after compression, and keeps its value where the update did not count (late, filtered out).
    Plain averages: it minimises the mean of the clients' losses, whatever their samples.
    Cost: O(r * p), memory O(p) per client ever heard of.
    """

    corrects: ClassVar[bool] = True
    sends_corrections: ClassVar[bool] = False

    _clients: int = PrivateAttr(0)
    _alpha: float = PrivateAttr(0.0)
    _mean: Floats | None = PrivateAttr(None)
    _gradients: dict[int, Params] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _alpha_is_elsewhere(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "alpha" in value:
            raise ValueError(f"{ALPHA}; write it there")
        return value

    @override
    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        self._clients, self._alpha = clients, local.proximal

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        local: LocalTraining = circumstances.training
        if not local.proximal:
            yield f"aggregator {self.name!r}: {ALPHA}, and has to be above 0, such as 0.1"

    @override
    def state_dict(self) -> dict[str, Any]:
        """Without what `prepare` tells, which a fork may change."""
        return {"_mean": self._mean, "_gradients": dict(self._gradients)}

    @override
    def correction(self, client: int) -> Params | None:
        """``-h_k``; None before the first update arrived."""
        if self._mean is None:
            return None
        own = self._gradients.get(client)
        return np.zeros(len(self._mean), np.float32) if own is None else -own

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Take over what participants know of their gradients; then move the model.

        Raises:
            RunError: an update is stale, or it was not told how many clients there are, and alpha.
        """
        if any(contribution.staleness for contribution in contributions):
            raise RunError("aggregator 'feddyn' can't use stale updates")
        if not (self._clients and self._alpha):
            raise RunError("aggregator 'feddyn' was not told how many clients there are, and alpha")
        step = sum_of(contributions, weights_of(contributions, "uniform"), "updates")
        step -= self._learn(contributions) / self._alpha
        return (model + step).astype(np.float32)

    def _learn(self, contributions: Sequence[Contribution]) -> Floats:
        """Take over each participant's `h_k`, once however often it was drawn; return `h` `(p,)`.

        It moves by what was rounded and kept, so that it stays the mean.
        """
        mean = np.zeros(len(contributions[0].base)) if self._mean is None else self._mean
        change = np.zeros_like(mean)
        for client, last in {c.result.order.client: c for c in contributions}.items():
            old = self._gradients.get(client, np.float32(0))
            new = (old - self._alpha * last.update).astype(np.float32)
            change += new.astype(np.float64) - old
            self._gradients[client] = new
        self._mean = mean + change / self._clients
        return self._mean
