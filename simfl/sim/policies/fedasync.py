"""FedAsync: every update is aggregated on arrival (Xie et al., 2019, arXiv:1903.03934, alg. 1)."""

from typing_extensions import override

from simfl.sim.policies._asynchronous import Asynchronous
from simfl.sim.policies.base import policies


@policies.register("fedasync")
class FedAsync(Asynchronous):
    """Keep `concurrency` clients at work; aggregate each update when it arrives.

    Goes with ``aggregation: fedasync``, which mixes each model in, a stale one less.
    """

    goes_with = ("fedasync",)

    @property
    @override
    def enough(self) -> int:
        return 1
