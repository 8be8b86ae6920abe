"""FedBuff: buffered asynchronous aggregation (Nguyen et al., 2022, arXiv:2106.06639, algorithm 1).

With a secure aggregator in between in the paper, which is why updates are aggregated K at a time.
"""

from pydantic import Field
from typing_extensions import override

from simfl.sim.policies._asynchronous import Asynchronous
from simfl.sim.policies.base import policies


@policies.register("fedbuff")
class FedBuff(Asynchronous):
    """Keep `concurrency` clients at work; aggregate whenever `buffer` updates have arrived.

    Goes with ``aggregation: fedbuff``, which discounts stale updates.
    """

    goes_with = ("fedbuff",)

    buffer: int = Field(10, ge=1, description="K: updates per aggregation (the paper's choice: 10)")

    @property
    @override
    def enough(self) -> int:
        return self.buffer
