"""FedGP: FedCor's predecessor, with two samples in every Gaussian-process update.

Tang et al., "FedGP: Correlation-Based Active Client Selection for Heterogeneous Federated
Learning", arXiv:2103.13822, Algorithms 1 and 2; docs/algorithms.md, A.6.
"""

from typing import Any, ClassVar

from pydantic import Field, NonNegativeInt

from simfl.components.selectors.base import selectors
from simfl.components.selectors.fedcor import FedCor


@selectors.register("fedgp")
class FedGp(FedCor):
    """FedCor with a warm-up to round 15 everywhere, and two samples in every update.

    Cost: as FedCor.
    """

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        **FedCor.presets,
        "cifar": {"warmup": 15, "interval": 50, "beta": 0.97, "theta": 0.99},
    }

    warmup: NonNegativeInt = Field(
        15, description="last warm-up round, counted from 0, inclusive (appendix A.1)"
    )
    beta: float = Field(
        0.95, gt=0, le=1, description="annealing factor per selection (Algorithm 1); cifar: 0.97"
    )
    warmup_reuse: NonNegativeInt = Field(
        1, description="earlier samples used in the warm-up, M (appendix A.1)"
    )
