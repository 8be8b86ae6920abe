"""The seam of aggregation: base model and client results -> next model, with explicit state."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component, overrides
from simfl.core.registry import Registry
from simfl.core.types import Floats, Params, Rng
from simfl.core.work import WorkResult


@dataclass(frozen=True)
class Contribution:
    """One client's result as the server receives it.

    Attributes:
        result: what the client computed (after compression, if any).
        base: `(p,)` the model it started from.
        staleness: server updates since then (0 in synchronous rounds).
        copies: how often it was drawn (1 unless sampled with replacement).
        tier: which tier of clients it comes from, where there are several.
        arrived_s: when it arrived, virtual seconds.
    """

    result: WorkResult
    base: Params
    staleness: int = 0
    copies: int = 1
    tier: int = 0
    arrived_s: float = 0.0

    @property
    def update(self) -> Floats:
        """`(p,)` the client's model minus its base, float64."""
        return self.result.params.astype(np.float64) - self.base.astype(np.float64)


class Aggregator(Component, ABC):
    """Turns updates into the next global model.  Sums (`weighting.sum_of`) are float64."""

    corrects: ClassVar[bool] = False
    """Whether it corrects clients' gradients: see `correction`."""

    sends_corrections: ClassVar[bool] = True
    """If it corrects, whether the server sends what a correction is made of, and is told of the
    gradients, which costs a model's size each way; else clients know of themselves."""

    wants: ClassVar[tuple[str, ...]] = ()
    """Extra measurements that participants make and upload beside their update, whatever the
    selector asks of them: `loss` or `squared_loss` (see `Selector.wants`), which are in the
    `extras` of their results, and cost what they do."""

    discounts_stale: ClassVar[bool] = False
    """Whether what it is for is that stale updates count less."""

    @property
    def is_mean(self) -> bool:
        """Whether the next model is a weighted mean of those that arrive, and nothing else."""
        return overrides(self, Aggregator.weigh) and self.weigh([1], [1]) is not None

    def prepare(self, local: LocalTraining, clients: int, per_round: int) -> None:
        """Learn of the run before its first round.

        Args:
            local: how clients train.
            clients: how many hold samples.
            per_round: how many of them a round wants to hear from (`rounds.clients`).
        """

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.corrects and circumstances.may_be_stale:
            yield (
                f"aggregator {self.name!r} can't use stale updates: it needs the policy "
                "'synchronous', with `late: drop`"
            )

    def withstands(self, clients: int | None) -> tuple[str, float] | None:
        """Return the option that says how many may attack, and which share of clients that is.

        It is told where more do on average.  None: it says nothing of that.

        Args:
            clients: of a round (None: it is not known how many updates come together).
        """
        return None

    def correction(self, client: int) -> Params | None:
        """Return what `client` shall add to every gradient now, `(p,)`; None: nobody anything."""
        return None

    def weigh(self, samples: Sequence[int], copies: Sequence[int]) -> Floats | None:
        """Return `(r,)` by what models that are not stale are multiplied before they are added up.

        None: the next model is not just that sum (`weighting.sum_of`, to the bit).  Where it is,
        models that are many or large are added up by the executor and forgotten, without a call
        of `aggregate`.

        Args:
            samples: `(r,)` of the clients.
            copies: `(r,)` how often each was drawn.
        """
        return None

    @abstractmethod
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Return the next model `(p,)`; `contributions` is never empty and sorted by order."""

    def perturb(self, model: Params, rng: Rng) -> Params:
        """Return the next model `(p,)` as everybody is to see it, such as with noise for privacy.

        Args:
            model: `(p,)` what `aggregate` returned.
            rng: of the round: the same numbers whatever was drawn before.
        """
        return model

    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return what an analysis may want to see of the present state, as named arrays."""
        return {}


aggregators: Registry[Aggregator] = Registry("aggregator", "simfl.components.aggregators", "fedavg")
