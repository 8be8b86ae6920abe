"""One client's part in a round."""

from dataclasses import dataclass

from simfl.core.work import WorkOrder
from simfl.sim.errand import Errand
from simfl.sim.errand_process import ErrandProcess


@dataclass(slots=True)
class Participation:
    """One client's part in a round.

    Attributes:
        round: the round it was selected in.
        order: what it trains.
        errand: what its device does, filled in as time passes.
        copies: how often it was drawn in this round.
        tier: which tier it was asked by, where there are several.
        selected_s: when.
        steps: SGD steps of its plan.
        version: of the global model then.
        process: its device's process, while it is at work.
        kept_back: whether its update filter left only a status to upload.
    """

    round: int
    order: WorkOrder
    errand: Errand
    copies: int
    selected_s: float
    steps: int
    version: int
    tier: int = 0
    process: ErrandProcess | None = None
    kept_back: bool = False

    @property
    def client(self) -> int:
        """Who."""
        return self.order.client

    @property
    def over(self) -> bool:
        """Whether its device has stopped, for whatever reason."""
        return self.errand.end is not None

    @property
    def arrived(self) -> bool:
        """Whether its update has reached the server."""
        return self.errand.end == "arrived" and not self.kept_back

    @property
    def arrived_s(self) -> float:
        """When it has (only for those who arrived)."""
        assert self.errand.ended_s is not None
        return self.errand.ended_s

    @property
    def duration_s(self) -> float:
        """From selection to arrival (only for those who arrived)."""
        assert self.errand.upload_end_s is not None
        return self.errand.upload_end_s - self.selected_s
