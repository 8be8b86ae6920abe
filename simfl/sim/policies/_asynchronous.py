"""What asynchronous policies share: clients kept at work, and a buffer that fills."""

import math
from abc import ABC, abstractmethod
from typing import Annotated

from pydantic import Field
from typing_extensions import override

from simfl.core.units import Duration
from simfl.core.units.dimensions import SHORTEST_S
from simfl.sim.policies.base import CallOff, Process, RoundPolicy
from simfl.sim.server.participation import Participation
from simfl.sim.server.server import Server


class Asynchronous(RoundPolicy, ABC):
    """Keep clients at work; aggregate whenever enough updates have arrived.

    Whoever comes back or drops out is replaced at once (while the server aggregates, once it is
    done: `server_time`), and may be chosen again at once: of one client there is never more than
    one work under way, but there may be several updates in the buffer.
    """

    awaits_updates = True
    refills = True

    concurrency: Annotated[int, Field(ge=1)] | None = Field(
        None, description="how many clients work at once; default rounds.clients"
    )
    max_staleness: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="an update based on a model more versions old than this is dropped, and never "
        "computed; default: no limit",
    )
    timeout: Duration | None = Field(
        None,
        ge=SHORTEST_S,
        description="clients that take longer are called off; default: no limit",
    )

    @property
    @override
    def call_off(self) -> CallOff | None:
        """Bytes are counted when a round ends, and none would."""
        return None if self.timeout is None else CallOff("timeout", self.timeout, ("time",))

    @property
    @abstractmethod
    def enough(self) -> int:
        """How many updates make an aggregation."""

    @override
    def counted(self, wanted: int) -> int:
        return self.enough

    @override
    def run(self, server: Server) -> Process:
        size = self.concurrency or server.settings.clients
        active = server.keep_active(size, self.timeout or math.inf)
        buffer: list[Participation] = []
        server.open_round()
        while not server.finished:
            active.hire()
            for part in (yield from active.arrivals()):
                if server.too_stale(part, self.max_staleness):
                    server.discard(part, "late")
                    continue
                buffer.append(part)
                if len(buffer) == self.enough:
                    yield from server.aggregate(buffer)
                    if server.finished:
                        return
                    buffer = []
                    server.open_round()
                    if self.server_time:  # or the next aggregation would keep them waiting
                        yield server.timeline.deadline(server.timeline.now)  # all are back by now
                        active.hire()
