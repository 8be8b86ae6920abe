"""Synchronous rounds: everybody starts together, the server waits for all or until a deadline.

The straggler deadline is FedCore's (Guo et al., section 3.1 and docs/algorithms.md, F.2): the
percentile of the devices' full-workload times that makes the slowest share of the fleet stragglers.
Over-selection is that of Bonawitz et al. (2019, arXiv:1902.01046, section 9): ask 130%, keep the
first 100%.  So are rounds that are abandoned for want of updates (section 2.2).
"""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from simfl.core.apportion import whole_share
from simfl.core.circumstances import Circumstances
from simfl.core.units import Share
from simfl.sim.policies.base import CallOff, Process, RoundPolicy, policies
from simfl.sim.server.deadlines import Deadline
from simfl.sim.server.participation import Participation
from simfl.sim.server.server import Server


@policies.register("synchronous")
class Synchronous(RoundPolicy):
    """Select, wait, aggregate.

    An update that lands exactly on the deadline counts.  Who is still at work then is called off:
    its time, bytes and energy are spent, its update is never trained.  Or it is carried over: it
    goes on, and its update is used, stale, in the round in which it arrives.
    """

    has_quorum: ClassVar[bool] = True

    deadline: Deadline = Field(
        None, description="how long a round may last: none | a duration | {stragglers: 30%}"
    )
    enforce: bool = Field(
        True,
        description="false: the deadline is only a reference (normalised time); the server waits "
        "for all clients",
    )
    over_select: Annotated[float, Share(maximum=100.0)] = Field(
        1.0,
        ge=1,
        description="select this many times rounds.clients, such as 130%, and keep the clients "
        "that arrive first",
    )
    late: Literal["drop", "carry"] = Field(
        "drop",
        description="clients still at work when a round closes: call them off, or use their "
        "updates in the round in which they arrive",
    )

    min_updates: int = Field(
        1,
        ge=1,
        description="a round in which fewer arrive in time is abandoned: the model stays, and they "
        "are late",
    )

    @model_validator(mode="after")
    def _nothing_abandoned_is_carried(self) -> Self:
        if self.min_updates > 1 and self.late == "carry":
            raise ValueError(
                "min_updates: a round without enough updates is abandoned, but `late: carry` "
                "keeps its updates for the next"
            )
        return self

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if self.min_updates > circumstances.clients:
            yield (
                f"min_updates: {self.min_updates} updates, but a round takes only "
                f"{circumstances.clients} (`rounds.clients`), so that each would be abandoned"
            )

    @property
    @override
    def may_be_stale(self) -> bool:
        return self.late == "carry"

    @property
    @override
    def yardstick(self) -> Deadline:
        return self.deadline

    @property
    @override
    def enforces(self) -> bool:
        return self.enforce

    @property
    @override
    def call_off(self) -> CallOff | None:
        if not self.enforce or self.late == "carry":
            return None
        return CallOff.at(self.deadline, "rounds", "time", "bytes")

    @property
    @override
    def least_updates(self) -> int:
        return self.min_updates

    @override
    def asked(self, wanted: int) -> int:
        return whole_share(self.over_select, wanted, up=True)

    @override
    def run(self, server: Server) -> Process:
        yardstick_s = server.deadline_s(self.deadline)
        limit_s = yardstick_s if self.enforce else math.inf
        wanted = server.settings.clients
        asked = self.asked(wanted)
        enough = wanted if self.over_select > 1 else None
        carried: list[Participation] = []
        while not server.finished:
            yield from server.until_quorum(asked)
            if server.finished:
                return
            server.open_round(None if yardstick_s == math.inf else yardstick_s)
            chosen = yield from server.select(asked)
            parts = server.send_all(chosen, limit_s)
            yield server.closing(parts, limit_s, enough)
            if self.late == "drop":
                yield server.call_off(parts)
                if enough is not None:
                    server.reject_surplus(parts, enough)
                server.abandon_below(parts, self.least_updates)
                ended = parts
            else:
                ended = [part for part in carried + parts if part.over]
                carried = [part for part in carried + parts if not part.over]
            yield from server.aggregate([part for part in ended if part.arrived], chosen)
